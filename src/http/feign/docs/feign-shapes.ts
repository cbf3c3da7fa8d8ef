/** The bodies and answers of `/feign` as schemas, for its OpenAPI document. Tests hold them against what the code takes and returns. */

import { connectionsReport } from "../../../model/gateway/connections-report.ts";
import { messageReport, refusedToken, reportedMessage } from "../../../model/gateway/message-report.ts";
import { targetTypes } from "../../../push/message/message.ts";
import { z } from "../../api/shape.ts";

const userId = z.string().min(1).openapi({ example: "42" });
const channel = z.string().min(1).openapi({ example: "news" });
const data = z.string().openapi({ example: "your order has shipped" });
const ack = z.boolean().nullish().openapi({
  description: "Asks `slipway.v1` clients to acknowledge the message; for `user` and `temp_user`.",
});
const idempotencyKey = z.string().nullish().openapi({ description: "In place of the header." });

export const publishShape = z
  .object({
    targetType: z.enum(targetTypes).openapi({ example: "user" }),
    target: z.string().optional().openapi({
      example: "42",
      description: "A user id or a channel name, of 1 to 255 bytes. May be absent or empty for `all`.",
    }),
    data,
    ack,
  })
  .openapi("PublishRequest");

export const publishBatchShape = z
  .union([
    z.object({
      messages: z
        .array(publishShape.extend({ idempotencyKey: z.string().nullish() }))
        .max(1000)
        .openapi({ description: "Each has an answer of its own, in this order." }),
    }),
    z.object({
      users: z.array(userId).max(10_000),
      targetType: z.enum(["user", "temp_user"]).optional(),
      data,
      ack,
      idempotencyKey,
    }),
  ])
  .openapi("PublishBatchRequest", { description: "Several messages, or one message to several users." });

export const disconnectShape = z
  .object({
    userId: userId.optional(),
    connectionId: z.string().min(1).optional(),
    code: z.number().int().optional().openapi({
      description: "4000 to 4999, 1000, 1001, 1008, 1011, 1012 or 1013; absent: 4004.",
    }),
  })
  .openapi("DisconnectRequest", { description: "Either `userId` or `connectionId`." });

export const membershipShape = z.object({ userId, channel }).openapi("MembershipRequest");

export const grantShape = z
  .object({
    userId,
    channels: z.array(channel).openapi({ description: "Names and globs; they replace those before." }),
  })
  .openapi("GrantRequest");

export const failureShape = z
  .object({
    code: z.number().int().openapi({ example: 40003, description: "The first three digits are the status." }),
    successful: z.literal(false),
    message: z.string(),
  })
  .openapi("Failure");

/** The success envelope around these data. */
export function envelopeOf<T extends z.ZodType>(content: T, name: string) {
  return z
    .object({
      code: z.literal(0),
      successful: z.literal(true),
      msg: z.string().nullable(),
      data: content,
      encrypt: z.literal(false),
    })
    .openapi(name);
}

const connection = connectionsReport.shape.connections.unwrap().element.extend({
  instance: z.string().optional().openapi({ description: "With `scope=cluster`." }),
});

export const reportShape = connectionsReport.omit({ console: true, node: true, connections: true }).extend({
  node: z.string().optional().openapi({ description: "This instance; absent with `scope=cluster`." }),
  connections: z.array(connection).optional().openapi({ description: "With `userId`." }),
  instances: z
    .array(
      z.object({
        instance: z.string(),
        total: z.number().int(),
        normal: z.number().int(),
        temporary: z.number().int(),
      }),
    )
    .optional()
    .openapi({ description: "With `scope=cluster`." }),
  missing: z.array(z.string()).optional().openapi({ description: "Instances that did not answer in time." }),
});

export const disconnectedShape = z.union([
  z.string(),
  z.object({
    connections: z.array(
      connection.pick({ connectionId: true, userId: true, kind: true }).extend({ instance: z.string() }),
    ),
    missing: z.array(z.string()),
  }),
]);

export const entriesShape = z.array(
  z.object({
    code: z.number().int().openapi({ description: "0: published." }),
    id: z.string().optional(),
    receivers: z.number().int().optional(),
    message: z.string().optional().openapi({ description: "Why it was refused." }),
  }),
);

const cause = z.object({ code: z.string(), values: z.record(z.string(), z.unknown()) });
const why = z.string().openapi({ description: "The cause as an English sentence." });

const traced = reportedMessage.extend({
  data: z.string().nullable().optional().openapi({ description: "Only for a deploy service with its key." }),
  cause: cause.openapi({
    description: "Why it arrived or did not: a stable code, and the values of its sentence.",
  }),
  why,
});

export const tracedListShape = messageReport.extend({
  messages: z.array(traced),
  refusedTokens: z.array(refusedToken.extend({ cause, why })),
});
export const tracedShape = traced.extend(messageReport.pick({ since: true, missing: true }).shape);
