import type { UserTrace } from "../../pages/push/user-state.tsx";
import { ago } from "./tasks.ts";

type Message = UserTrace["messages"][number];
type Connection = Message["instances"][number]["connections"][number];

const connection: Connection = {
  connectionId: "c-1",
  userId: "42",
  kind: "normal",
  protocol: "slipway.v1",
  state: "acknowledged",
  isResumed: false,
  closeCode: null,
  at: ago(1.9),
};

/** A message that one connection of the user received and another one lost. */
export const message: Message = {
  id: "01JD7",
  position: null,
  publishedAt: ago(2),
  targetType: "user",
  target: "42",
  users: null,
  ack: true,
  cause: "The client acknowledged it.",
  causeParts: [],
  data: '{"order":7}',
  instances: [
    {
      instance: "a",
      state: "distributed",
      at: ago(2),
      written: 1,
      waiting: 0,
      acknowledged: 1,
      closed: 1,
      connections: [connection, { ...connection, connectionId: "c-2", state: "closed", closeCode: 1006 }],
      closedBefore: null,
      openedAfter: null,
    },
    {
      ...{
        instance: "b",
        state: "refused",
        at: ago(1.8),
        connections: [],
        openedAfter: null,
        closedBefore: null,
      },
      ...{ written: 0, waiting: 0, acknowledged: 0, closed: 0 },
    },
  ],
};
