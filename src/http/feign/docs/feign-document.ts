import { OpenAPIHono } from "@hono/zod-openapi";
import { type FailureCode, failureCodes, statusOf } from "../../../push/message/failure-codes.ts";
import { version } from "../../../version.ts";
import type { ApiDocument } from "../../api/docs-page.ts";
import { z } from "../../api/shape.ts";
import {
  disconnectedShape,
  disconnectShape,
  entriesShape,
  envelopeOf,
  failureShape,
  grantShape,
  membershipShape,
  publishBatchShape,
  publishShape,
  reportShape,
  tracedListShape,
  tracedShape,
} from "./feign-shapes.ts";

const about = `How services publish through the push gateway, and ask about its connections.

**Credentials.** A key of \`push.api-keys\`, as \`X-API-Key\` or \`Authorization: Bearer\`. Without keys, only callers in
\`push.internal-networks\` are served.

**Answers** are always \`{"code":0,"successful":true,"msg","data","encrypt":false}\` with status 200, or
\`{"code","successful":false,"message"}\` with a matching status. Every 429 and 503 has \`Retry-After\`.`;

type FailureName = keyof typeof failureCodes;

interface Operation {
  method: "get" | "post";
  path: string;
  tag: "publish" | "connections" | "channels" | "messages";
  summary: string;
  description?: string;
  headers?: z.ZodObject;
  params?: z.ZodObject;
  query?: z.ZodObject;
  body?: z.ZodType;
  answer: z.ZodType;
  failures: FailureName[];
}

const scope = z.enum(["cluster"]).optional().openapi({ description: "Asks all instances." });
const publishHeaders = z.object({
  "idempotency-key": z
    .string()
    .optional()
    .openapi({ description: "A repeat within five minutes delivers nothing and returns the same id." }),
  traceparent: z
    .string()
    .optional()
    .openapi({ description: "W3C Trace Context: with telemetry on, the caller's trace continues here." }),
});
const users = envelopeOf(z.array(z.string()), "Users");
const text = envelopeOf(z.string(), "Text");

const operations: Operation[] = [
  {
    ...{ method: "post", path: "/feign/publish", tag: "publish", summary: "Publish a message" },
    description:
      "`X-Push-Id` names the message, `X-Push-Receivers` says how many connections were reached (on one instance).",
    ...{ headers: publishHeaders, body: publishShape, answer: text },
    failures: [
      "targetType",
      "target",
      "data",
      "idempotencyKey",
      "ack",
      "consoleName",
      "idempotencyKeyReused",
    ],
  },
  {
    ...{ method: "post", path: "/feign/publishBatch", tag: "publish", summary: "Publish many messages" },
    description:
      "A refused message does not stop the others. A message to several users is one record of the log.",
    ...{ headers: publishHeaders, body: publishBatchShape, answer: envelopeOf(entriesShape, "Entries") },
    failures: ["targetType", "data", "idempotencyKey", "batch", "ack", "idempotencyKeyReused"],
  },
  {
    ...{ method: "get", path: "/feign/getOnlineUsers", tag: "connections", summary: "Online users" },
    description: "Users with a normal connection to this instance, or to any instance.",
    ...{ query: z.object({ scope }), answer: users, failures: ["scope"] },
  },
  {
    ...{
      method: "get",
      path: "/feign/getChannelUsers",
      tag: "channels",
      summary: "Users in a presence channel",
    },
    query: z.object({ channel: z.string().openapi({ description: "Starts with `presence-`." }) }),
    ...{ answer: users, failures: ["target"] },
  },
  {
    ...{ method: "post", path: "/feign/disconnect", tag: "connections", summary: "Close connections" },
    description: "`msg` and `X-Push-Connections` say how many. With `scope=cluster`, `data` lists them.",
    ...{ query: z.object({ scope }), body: disconnectShape },
    answer: envelopeOf(disconnectedShape, "Disconnected"),
    failures: ["target", "closeCode", "scope", "consoleName"],
  },
  {
    ...{ method: "get", path: "/feign/connections", tag: "connections", summary: "Connections" },
    description: "Counts by kind, channels and buffers; with `userId`, the connections of that user.",
    query: z.object({ userId: z.string().optional(), scope }),
    ...{ answer: envelopeOf(reportShape, "Connections"), failures: ["scope", "consoleName"] },
  },
  {
    ...{ method: "get", path: "/feign/messages", tag: "messages", summary: "The last messages to a user" },
    description: "What became of each, on all instances.",
    query: z.object({ user: z.string() }),
    ...{
      answer: envelopeOf(tracedListShape, "TracedMessages"),
      failures: ["target", "consoleName", "noTrace"],
    },
  },
  {
    ...{ method: "get", path: "/feign/messages/{id}", tag: "messages", summary: "One message" },
    params: z.object({ id: z.string().openapi({ description: "Its `X-Push-Id`." }) }),
    ...{ answer: envelopeOf(tracedShape, "TracedMessage"), failures: ["noTrace"] },
  },
  ...(["join", "leave"] as const).map(
    (change): Operation => ({
      ...{ method: "post", path: `/feign/channels/${change}`, tag: "channels" },
      summary: change === "join" ? "Join a channel" : "Leave a channel",
      description: "With the user's open connections; later ones are not affected.",
      ...{ body: membershipShape, answer: text, failures: ["target", "consoleName"] },
    }),
  ),
  {
    ...{ method: "post", path: "/feign/channels/grant", tag: "channels", summary: "Grant channels" },
    description: "The user's open connections leave channels that are no longer granted.",
    ...{ body: grantShape, answer: text, failures: ["target", "consoleName"] },
  },
  {
    ...{ method: "get", path: "/feign/client-messages", tag: "messages", summary: "What clients send, live" },
    description: "One JSON object a line (`application/x-ndjson`), until the caller disconnects.",
    ...{ answer: z.string(), failures: ["clientMessagesOff", "listenerLimit"] },
  },
];

const everyFailure: FailureName[] = ["keyMissing", "keyNotAllowed", "method", "internal", "unavailable"];
const bodyFailures: FailureName[] = ["notJsonObject", "bodyTooSlow", "tooLarge", "contentType"];

/** The OpenAPI document of `/feign`. */
export function feignDocument(): ApiDocument {
  const app = new OpenAPIHono();
  app.openAPIRegistry.registerComponent("securitySchemes", "key", {
    ...{ type: "apiKey", in: "header", name: "X-API-Key" },
  });
  app.openAPIRegistry.registerComponent("securitySchemes", "bearer", { type: "http", scheme: "bearer" });
  for (const operation of operations) {
    const { method, path, tag, summary, description, headers, params, query, body, answer } = operation;
    const isStream = path === "/feign/client-messages";
    const media = isStream ? "application/x-ndjson" : "application/json";
    app.openAPIRegistry.registerPath({
      ...{
        method,
        path,
        tags: [tag],
        summary,
        "x-access": "feign",
        security: [{ key: [] }, { bearer: [] }, {}],
      },
      ...(description ? { description } : {}),
      request: {
        ...(headers ? { headers } : {}),
        ...(params ? { params } : {}),
        ...(query ? { query } : {}),
        ...(body ? { body: { required: true, content: { "application/json": { schema: body } } } } : {}),
      },
      responses: {
        200: { description: "Done", content: { [media]: { schema: answer } } },
        ...failuresOf([...operation.failures, ...everyFailure, ...(body ? bodyFailures : [])]),
      },
    });
  }
  return app.getOpenAPI31Document({
    openapi: "3.1.0",
    info: { title: "Slipway push", version, description: about },
  }) as unknown as ApiDocument;
}

function failuresOf(names: FailureName[]) {
  const codes: FailureCode[] = names.map((name) => failureCodes[name]);
  const byStatus = Map.groupBy(codes.sort(), statusOf);
  const content = { "application/json": { schema: failureShape } };
  return Object.fromEntries(
    [...byStatus].map(([status, of]) => [status, { description: `\`code\` ${of.join(", ")}`, content }]),
  );
}
