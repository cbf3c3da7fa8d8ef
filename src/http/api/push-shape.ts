import { reasonPartsShape } from "./reason-shape.ts";
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

const tracedConnectionShape = z.object({
  connectionId: z.string(),
  userId: z.string(),
  kind: z.enum(["normal", "temporary"]),
  protocol: z.enum(["raw", "slipway.v1"]),
  state: z.enum(["waiting", "written", "acknowledged", "closed"]).openapi({
    description:
      "`waiting`: the client is behind. `closed`: the connection closed before the message was sent or acknowledged.",
  }),
  isResumed: z.boolean().openapi({ description: "The client got it after a reconnect." }),
  closeCode: count.nullable(),
  at: time,
});

/** The output of push/trace-report.ts. */
export const messagesShape = z
  .object({
    messages: z.array(
      z.object({
        id: z.string(),
        position: z.string().nullable().openapi({ description: "In the log; null: it was not appended." }),
        publishedAt: time,
        targetType: z.string(),
        target: z.string(),
        users: count.nullable().openapi({ description: "Number of users of a message to several." }),
        ack: z.boolean().openapi({ description: "Clients were asked to acknowledge it." }),
        data: z.string().nullable().openapi({
          description: "Null: longer than 4,096 characters, no longer known, or not told by the gateway.",
        }),
        cause: z.string().openapi({ description: "Why it arrived or did not." }),
        causeParts: reasonPartsShape,
        instances: z.array(
          z.object({
            instance: z.string(),
            state: z.enum(["distributed", "kept", "repeated", "refused"]),
            at: time,
            written: count,
            waiting: count,
            acknowledged: count,
            closed: count,
            connections: z.array(tracedConnectionShape),
            closedBefore: z.object({ closeCode: count, at: time }).nullable().openapi({
              description: "The close of the user's last connection before the message.",
            }),
            openedAfter: z.object({ recovered: z.boolean(), at: time }).nullable().openapi({
              description: "The user's next connection after the message.",
            }),
          }),
        ),
      }),
    ),
    refusedTokens: z
      .array(
        z.object({
          instance: z.string(),
          at: time,
          isSigned: z
            .boolean()
            .openapi({ description: "False: anybody can have named the user in the token." }),
          cause: z.string(),
          causeParts: reasonPartsShape,
        }),
      )
      .openapi({
        description:
          "JWTs with this user that were refused as codes, the newest first; at most 20 of each process, ten of them unsigned.",
      }),
    connectedLike: z.array(z.string()).openapi({ description: "Similar user ids of open connections." }),
    addressedLike: z.array(z.string()).openapi({ description: "Similar user ids of messages." }),
    since: time
      .nullable()
      .openapi({ description: "All instances that answered know the messages since then." }),
    missing: z.array(z.string()).openapi({ description: "Instances that did not answer in time." }),
  })
  .openapi("PushMessages");
