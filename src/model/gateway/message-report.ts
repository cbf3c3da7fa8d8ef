import { z } from "zod";
import { sentenceSchema, time } from "../../reason/schema-forms.ts";
import { connectionKind, reportedConnection } from "./connections-report.ts";

const count = z.number().int();

const tracedConnection = z.object({
  connectionId: z.string(),
  userId: z.string(),
  kind: connectionKind,
  protocol: z.enum(["raw", "slipway.v1"]),
  state: z.enum(["waiting", "written", "acknowledged", "closed"]).meta({
    description:
      "`waiting`: the client is behind. `closed`: the connection closed before the message was sent or acknowledged.",
  }),
  isResumed: z.boolean().meta({ description: "The client got it after a reconnect." }),
  closeCode: count.nullable(),
  at: time,
});
export type DeliveryState = z.infer<typeof tracedConnection>["state"];

const tracedInstance = z.object({
  instance: z.string(),
  /** `kept`: read during the start, before there were connections. */
  state: z.enum(["distributed", "kept", "repeated", "refused"]),
  at: time,
  written: count,
  waiting: count,
  acknowledged: count,
  closed: count,
  connections: z.array(tracedConnection),
  closedBefore: z.object({ closeCode: count, at: time }).nullable().meta({
    description: "The close of the user's last connection before the message.",
  }),
  openedAfter: z.object({ recovered: z.boolean(), at: time }).nullable().meta({
    description: "The user's next connection after the message.",
  }),
});
export type TraceState = z.infer<typeof tracedInstance>["state"];

/** What became of a message on all instances. */
export const reportedMessage = z.object({
  id: z.string(),
  position: z.string().nullable().meta({ description: "In the log; null: it was not appended." }),
  publishedAt: time,
  targetType: z.string(),
  target: z.string(),
  users: count.nullable().meta({ description: "Number of users of a message to several." }),
  ack: z.boolean().meta({ description: "Clients were asked to acknowledge it." }),
  data: z
    .string()
    .nullable()
    .meta({
      description: "Null: longer than 4,096 characters, no longer known, or not told by the gateway.",
    })
    .optional(),
  cause: sentenceSchema.meta({ description: "Why it arrived or did not." }),
  instances: z.array(tracedInstance),
});
export type ReportedMessage = z.infer<typeof reportedMessage>;

/** A JWT that was refused as a code. */
export const refusedToken = z.object({
  instance: z.string(),
  at: time,
  isSigned: z.boolean().meta({ description: "False: anybody can have named the user in the token." }),
  cause: sentenceSchema,
});

/** Where a user is, on all instances. */
export const userReport = z.object({
  connections: z.array(reportedConnection.extend({ instance: z.string() })).meta({
    description: "The open connections of the user; at most 100 of each process.",
  }),
  lastClosed: z.object({ closeCode: count, at: time }).nullable().meta({
    description: "The last close of a connection of the user. Null: none is remembered.",
  }),
  since: time.meta({ description: "Since when all instances that answered remember openings and closes." }),
});
export type UserReport = z.infer<typeof userReport>;

/** What all instances know about messages. */
export const messageReport = z.object({
  messages: z.array(reportedMessage),
  refusedTokens: z.array(refusedToken).meta({
    description:
      "JWTs with this user that were refused as codes, the newest first; at most 20 of each process, ten of them unsigned.",
  }),
  user: userReport.nullable().meta({ description: "Null: the gateway does not tell." }),
  connectedLike: z.array(z.string()).meta({ description: "Similar user ids of open connections." }),
  addressedLike: z.array(z.string()).meta({ description: "Similar user ids of messages." }),
  since: time.nullable().meta({ description: "All instances that answered know the messages since then." }),
  missing: z.array(z.string()).meta({ description: "Instances that did not answer in time." }),
});
export type MessageReport = z.infer<typeof messageReport>;
