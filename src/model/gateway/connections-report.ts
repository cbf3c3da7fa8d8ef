import { z } from "zod";
import { time } from "../../reason/schema-forms.ts";

const count = z.number().int();

export const connectionKind = z.enum(["normal", "temporary"]);

export const reportedConnection = z.object({
  connectionId: z.string(),
  userId: z.string(),
  kind: connectionKind,
  protocol: z.string(),
  channels: z.array(z.string()),
  address: z.string(),
  openedAt: time,
  endsAt: time.nullable(),
  bufferedBytes: count,
});
export type ReportedConnection = z.infer<typeof reportedConnection>;

/** The connections of a gateway, as its processes tell each other and its interfaces answer. */
export const connectionsReport = z.object({
  node: z.string(),
  total: count,
  normal: count,
  temporary: count,
  console: count.meta({
    description: "Temporary connections of the console itself, included in the counts.",
  }),
  users: count,
  published: count.meta({
    description: "Messages of applications since the start of the instance, without those for the console.",
  }),
  isCluster: z.boolean().meta({ description: "Other instances distribute the same messages." }),
  maxConnections: count,
  verifying: count,
  isDraining: z.boolean(),
  buffers: z.object({ bufferedBytes: count, lagging: count }),
  channelCount: count,
  channels: z.array(z.object({ name: z.string(), members: count })),
  connections: z.array(reportedConnection).optional(),
});
export type ConnectionsReport = z.infer<typeof connectionsReport>;
