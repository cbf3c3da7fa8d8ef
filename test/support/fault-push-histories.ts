import type { ClientHistory, History } from "../fault-suite/reconciler/history.ts";
import type { PromiseName } from "../fault-suite/reconciler/violation.ts";
import { attempt, client, closed, fault, message, opened, presenceEvent, received } from "./fault-history.ts";

const aFault = [fault(0, 100_000)];

/** A client that resumed at `at` after it got everything, but was answered `recovered: false`. */
function notResumed(at: number): ClientHistory {
  return client([
    opened(0),
    received(1, 105),
    received(2, 205),
    received(3, 305),
    closed(310),
    opened(at, false, 3),
  ]);
}

/** Histories of messages, publishes and presence that violate one promise each. */
export const badPush: Record<string, [PromiseName, Partial<History>][]> = {
  messages: [
    ["lost", { clients: [client([opened(0), received(1, 105), received(3, 305)])] }],
    ["lost", { clients: [client([opened(0), received(1, 105), received(2, 205)])] }],
    [
      "lost",
      { clients: [client([opened(0), received(1, 105), received(3, 305), closed(400), opened(500)])] },
    ],
    [
      "recovered-across-a-gap",
      { clients: [client([opened(0), received(1, 105), closed(150), opened(250, true), received(3, 305)])] },
    ],
    [
      "duplicate",
      {
        clients: [
          client([opened(0), received(1, 105), received(2, 205), received(3, 305), received(3, 306)]),
        ],
      },
    ],
    [
      "duplicate",
      {
        clients: [
          client([opened(0), received(1, 105), received(2, 205), received(3, 305)], {
            receivedBefore: new Set([1]),
          }),
        ],
      },
    ],
    [
      "duplicate",
      {
        clients: [
          client([opened(0), received(9, 50), received(1, 105), received(2, 205), received(3, 305)], {
            receivedBefore: new Set([9]),
          }),
        ],
      },
    ],
    [
      "duplicate",
      {
        clients: [
          client([
            opened(0),
            received(1, 105),
            received(2, 205),
            received(3, 305),
            closed(310),
            opened(320, true, 3),
            received(3, 330, true),
          ]),
        ],
      },
    ],
    ["reordered", { clients: [client([opened(0), received(1, 105), received(3, 305), received(2, 306)])] }],
    ["reordered", { clients: [client([opened(250), received(3, 305), received(2, 306)])] }],
    [
      "stray",
      { messages: [message(1, 100, { target: "ben" })], clients: [client([opened(0), received(1, 105)])] },
    ],
    [
      "stray",
      {
        messages: [message(1, 100, { targetType: "temp_user" })],
        clients: [client([opened(0), received(1, 105)])],
      },
    ],
  ],
  resumes: [
    ["not-resumed", { clients: [notResumed(400)] }],
    ["not-resumed", { clients: [notResumed(80_000)] }],
    ["not-resumed", { faults: [fault(350, 450)], clients: [notResumed(400)] }],
    ["not-resumed", { faults: [fault(350, 450, { unreadable: ["two"] })], clients: [notResumed(400)] }],
    ["not-resumed", { faults: [fault(500, 600, { unreadable: ["one"] })], clients: [notResumed(400)] }],
    ["not-resumed", { faults: [fault(350, 450, { unreadable: ["one"] })], clients: [notResumed(9_000)] }],
    ["not-resumed", { faults: [fault(250, 290, { breaksLogFile: true })], clients: [notResumed(400)] }],
  ],
  publishes: [
    [
      "publish-answer",
      { faults: aFault, messages: [message(1, 0, { attempts: [attempt(0, { status: 500 })] })] },
    ],
    ["publish-answer", { messages: [message(1, 0, { attempts: [attempt(0, { status: 503 })] })] }],
    [
      "publish-answer",
      { messages: [message(1, 0, { attempts: [attempt(0, { endedAt: 60_000 })] })], clients: [] },
    ],
    [
      "idempotency",
      {
        messages: [message(1, 100, { key: "k", attempts: [attempt(100), attempt(200, { id: "other" })] })],
        clients: [client([opened(0), received(1, 105)])],
      },
    ],
  ],
  keys: [
    [
      "idempotency",
      {
        messages: [
          message(1, 100, {
            key: "k",
            attempts: [attempt(100), attempt(9_000, { gateway: "two", id: "other" })],
          }),
        ],
        clients: [client([opened(0), received(1, 105)])],
      },
    ],
    [
      "idempotency",
      {
        faults: aFault,
        messages: [
          message(1, 100, {
            key: "k",
            attempts: [
              attempt(100, { gateway: "two", status: 503, id: null }),
              attempt(200),
              attempt(220, { gateway: "two", id: "other" }),
            ],
          }),
        ],
        clients: [client([opened(0), received(1, 105)])],
      },
    ],
  ],
  presence: [
    ["presence-diverges", { presence: [{ instance: "one", online: [], expected: ["ann"] }] }],
    ["presence-diverges", { presence: [{ instance: "one", online: ["ann", "ben"], expected: ["ann"] }] }],
    [
      "presence-event-repeated",
      {
        presenceEvents: [presenceEvent("e1", "online"), presenceEvent("e2", "online")],
      },
    ],
    [
      "presence-event-repeated",
      {
        presenceEvents: [
          presenceEvent("e1", "online"),
          presenceEvent("e2", "offline"),
          presenceEvent("e3", "online"),
          presenceEvent("e3", "offline"),
        ],
      },
    ],
    ["presence-event-lost", { presenceEvents: [presenceEvent("e1", "offline")] }],
    ["presence-event-lost", { presenceEvents: [] }],
  ],
};

/** Histories that look wrong and are allowed. */
export const allowedPush: [string, Partial<History>][] = [
  [
    "messages at the end of a connection are missing when the next one says recovered: false",
    { clients: [client([opened(0), received(1, 105), closed(150), opened(250), received(3, 305)])] },
  ],
  [
    "a message that was sent before the connection was open",
    { clients: [client([opened(105), received(2, 205), received(3, 305)])] },
  ],
  ["recovered: false for a position that is too old", { clients: [notResumed(100_000)] }],
  [
    "recovered: false while the instance cannot read its log",
    { faults: [fault(350, 450, { unreadable: ["one"] })], clients: [notResumed(400)] },
  ],
  [
    "recovered: false for a position from before the server ended on a disk that could not be written",
    { faults: [fault(250, 350, { breaksLogFile: true })], clients: [notResumed(400)] },
  ],
  [
    "a repeated id after recovered: false, because clients drop it",
    {
      faults: [fault(150, 180, { unreadable: ["one"] })],
      clients: [
        client([
          opened(0),
          received(1, 105),
          closed(150),
          opened(180, false, 1),
          received(1, 190, true),
          received(2, 205),
          received(3, 305),
        ]),
      ],
    },
  ],
  ["no presence events, if no service can read them", { presenceEvents: null }],
  [
    "a raw client receives a message on each of two connections",
    {
      clients: [
        client(
          [
            opened(0),
            received(1, 105),
            received(2, 205),
            received(3, 305),
            closed(310),
            opened(320),
            received(3, 330),
          ],
          { protocol: "raw" },
        ),
      ],
    },
  ],
  [
    "a refused message arrives late or never",
    {
      faults: aFault,
      messages: [message(1, 100, { attempts: [attempt(100, { status: 503, id: null })] }), message(2, 200)],
      clients: [client([opened(0), received(2, 205), received(1, 305)])],
    },
  ],
];
