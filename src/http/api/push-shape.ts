import { time } from "./scalars.ts";
import { z } from "./shape.ts";

const count = z.number().int();

/** The output of push/connections-report.ts. */
export const connectionsShape = z
  .object({
    node: z.string(),
    total: count,
    normal: count,
    temporary: count,
    console: count.openapi({
      description: "Temporary connections of the console itself, included in the counts.",
    }),
    users: count,
    published: count.openapi({
      description: "Messages of applications since the start of the instance, without those for the console.",
    }),
    isCluster: z.boolean().openapi({ description: "Other instances distribute the same messages." }),
    maxConnections: count,
    verifying: count,
    isDraining: z.boolean(),
    buffers: z.object({ bufferedBytes: count, lagging: count }),
    channelCount: count,
    channels: z.array(z.object({ name: z.string(), members: count })),
    connections: z
      .array(
        z.object({
          connectionId: z.string(),
          userId: z.string(),
          kind: z.enum(["normal", "temporary"]),
          protocol: z.string(),
          channels: z.array(z.string()),
          address: z.string(),
          openedAt: time,
          endsAt: time.nullable(),
          bufferedBytes: count,
        }),
      )
      .optional(),
  })
  .openapi("PushConnections");
