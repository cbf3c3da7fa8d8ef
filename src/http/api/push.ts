import { actsAsAdmin } from "../../account/permissions.ts";
import { Fault } from "../../errors.ts";
import {
  consoleChannelPrefix,
  consoleUserId,
  consoleUserPrefix,
  isConsoleTarget,
  isConsoleUser,
} from "../../model/console/console-names.ts";
import type { Caller } from "../../model/permission.ts";
import type { PushCodes } from "../../push/admission/own-codes.ts";
import { isChannelName } from "../../push/message/channel-name.ts";
import { targetTypes } from "../../push/message/message.ts";
import { isUserId } from "../../push/message/user-id.ts";
import { newReason } from "../../reason/reason.ts";
import { reasonJson } from "../../reason/reason-json.ts";
import { ruleText } from "../../reason/rule-text.ts";
import { audit, callerOf } from "./context.ts";
import type { ApiDeps } from "./deps.ts";
import { knownCallerLimits } from "./json-body.ts";
import { connectionsShape, messagesShape, seriesShape } from "./push-shape.ts";
import { newApi, routesOf } from "./route.ts";
import { text } from "./scalars.ts";
import { json, jsonOf, onlyGiven, strict, z } from "./shape.ts";

const route = routesOf("push");
const userId = text(255, 1).refine(isUserId, ruleText("user_id")).openapi({ example: "42" });

const makeCode = route("post", "/push/codes", {
  summary: "Make a code for one connection",
  description:
    "Single-use, good for 60 seconds, as `code` of `/ws`. For the own username, or for any `userId` if an admin asks. With " +
    "`for: console` it is bound to `slipway:<id>`, good for `temp=1` only, and granted the private channels of the projects that " +
    "the caller may view; the connection ends (4003) when the caller's session or token expires.",
  access: "signed-in",
  body: strict({ userId: userId.optional(), for: z.enum(["application", "console"]).optional() }),
  created: json("The code.", z.object({ code: z.string(), expiresIn: z.number().int() }).openapi("PushCode")),
});

const verdictShape = z
  .object({
    userId: z.string(),
    temporary: z.boolean(),
    maxLifetime: z.number().optional().openapi({ description: "Seconds; 0: no end." }),
    channels: z.array(z.string()).optional(),
    join: z.boolean(),
    console: z.boolean().openapi({ description: "A connection of the console itself." }),
  })
  .openapi("PushVerdict");

const about =
  "For a push role that runs alone: the `verify-uri` of codes made here. Uses the code up. The code itself is the proof, so no " +
  "credential is asked for; 401 when it is unknown, used or expired.";

const verifyByGet = route("get", "/push/verify", {
  summary: "Verify a code",
  description: about,
  access: "anonymous",
  query: { code: text(4096, 1), temp: z.enum(["1"]).optional() },
  ok: json("The user of the code, and the rules of the connection.", verdictShape),
});

const verifyByPost = route("post", "/push/verify", {
  summary: "Verify a code (verify-method POST)",
  description: about,
  access: "anonymous",
  body: strict({
    code: text(4096, 1),
    temp: z.boolean().default(false),
    ip: text(256).optional(),
    origin: text(2000).nullable().optional(),
  }),
  ok: json("The user of the code, and the rules of the connection.", verdictShape),
});

const publish = route("post", "/push/publish", {
  summary: "Publish a message",
  description: "What `POST /feign/publish` does, for the console and for tokens with the scope `publish`.",
  access: "admin",
  scope: "publish",
  body: strict({
    targetType: z.enum(targetTypes),
    target: text(1024).default("").openapi({ description: "A user id or a channel; empty for all." }),
    data: text(knownCallerLimits.maxBytes).openapi({
      description: "At most `push.max-message-bytes` bytes.",
    }),
    ack: z
      .boolean()
      .default(false)
      .openapi({ description: "Asks the clients of a user or temporary user to acknowledge it." }),
  })
    .refine(({ targetType, ack }) => !ack || targetType.endsWith("user"), {
      path: ["ack"],
      error: ruleText("ack_target"),
    })
    .refine(namesItsTarget, {
      path: ["target"],
      error: ruleText("target_required"),
      // Also if other fields are wrong, so that all mistakes are reported at once.
      when: ({ value }) => typeof value === "object" && value !== null,
    })
    .refine(({ targetType, target }) => targetType !== "channel" || isChannelName(target), {
      path: ["target"],
      error: ruleText("channel_name"),
    })
    .refine(({ targetType, target }) => !targetType.endsWith("user") || target === "" || isUserId(target), {
      path: ["target"],
      error: ruleText("user_id"),
    }),
  ok: json(
    "It is published.",
    z.object({ id: z.string(), receivers: z.number().int().nullable() }).openapi("Published", {
      description: "`receivers` is null in cluster mode, where nobody knows them all.",
    }),
  ),
});

const disconnect = route("post", "/push/disconnect", {
  summary: "Disconnect a user or a connection",
  description: "Closes with 4004; well-behaved clients do not come back by themselves. Give one of the two.",
  access: "admin",
  body: strict({ userId: userId.optional(), connectionId: text(256, 1).optional() }).refine(
    (body) => (body.userId === undefined) !== (body.connectionId === undefined),
    ruleText("one_of_two"),
  ),
  ok: json("The number of connections.", z.object({ connections: z.number().int() })),
});

const connections = route("get", "/push/connections", {
  summary: "Connections of the gateway",
  description: "Counts, channels and buffers of this instance; with `userId` that user's connections too.",
  access: "admin",
  query: { userId: userId.optional() },
  ok: json("The report.", connectionsShape),
});

const history = route("get", "/push/history", {
  summary: "Connections and messages of the last hour and day",
  description: "As the server has kept them, also over its restarts. Null: no push gateway runs here.",
  access: "admin",
  ok: json("Both series.", seriesShape.nullable()),
});

const online = route("get", "/push/online", {
  summary: "Users online",
  description: "Those with a normal connection to this instance.",
  access: "admin",
  ok: json("Their ids.", z.object({ users: z.array(z.string()) }).openapi("OnlineUsers")),
});

const messages = route("get", "/push/messages", {
  summary: "What became of the messages to a user",
  description:
    "Where the user is connected, and the last messages to the user, to all and to the user's channels, with what every instance knows about " +
    "them: up to 100, 20 and 50 of each instance. In memory only: after a restart of an instance its part is gone.",
  access: "admin",
  query: { user: userId },
  ok: json("The messages, the newest first.", messagesShape),
});

export function pushApi({ push }: ApiDeps) {
  const { codes, operations, consoleAccess } = push;
  return newApi()
    .openapi(makeCode, async (c) => {
      const caller = callerOf(c);
      const body = c.req.valid("json");
      const request =
        body.for === "console"
          ? {
              userId: consoleUserId(caller.userId),
              console: true,
              channels: await consoleAccess.channelsFor(caller.userId, caller.role),
              endsAt: caller.expiresAt,
            }
          : { userId: nameFor(caller, body.userId), console: false, channels: null, endsAt: null };
      return c.json(await codes.issue(request), 201);
    })
    .openapi(verifyByGet, async (c) => {
      const { code, temp } = c.req.valid("query");
      return c.json(await verdictOf(codes, code, temp === "1"), 200);
    })
    .openapi(verifyByPost, async (c) => {
      const { code, temp } = c.req.valid("json");
      return c.json(await verdictOf(codes, code, temp), 200);
    })
    .openapi(publish, async (c) => {
      const { ack, ...message } = c.req.valid("json");
      refuseConsoleTarget(message);
      const published = await operations.publish(ack ? { ...message, ack } : message);
      const { targetType, target } = message;
      await audit(c, { action: "push.publish", subject: `push ${targetType} ${target}`.trim() });
      return c.json(published, 200);
    })
    .openapi(disconnect, async (c) => {
      const body = onlyGiven(c.req.valid("json"));
      const selector =
        body.userId === undefined ? { connectionId: body.connectionId ?? "" } : { userId: body.userId };
      const disconnected = await operations.disconnect(selector);
      await audit(c, {
        action: "push.disconnect",
        subject: "push",
        detail: { ...selector, connections: disconnected },
      });
      return c.json({ connections: disconnected }, 200);
    })
    .openapi(connections, async (c) =>
      c.json(await operations.connections(c.req.valid("query").userId ?? null), 200),
    )
    .openapi(history, async (c) => {
      const series = (await push.history?.series()) ?? null;
      return c.json(series && jsonOf(seriesShape, series), 200);
    })
    .openapi(messages, async (c) => {
      const report = await operations.messages(c.req.valid("query").user);
      const shown = report.messages.map(({ cause, data = null, ...message }) => ({
        ...message,
        ...reasonJson({ cause }),
        data,
      }));
      const refusedTokens = report.refusedTokens.map(({ instance, at, cause, isSigned }) => ({
        ...{ instance, at, isSigned },
        ...reasonJson({ cause }),
      }));
      return c.json({ ...report, messages: shown, refusedTokens }, 200);
    })
    .openapi(online, async (c) => c.json({ users: await operations.online() }, 200));
}

/** The console treats messages to these targets as live updates of the deploy service. */
function refuseConsoleTarget({ targetType, target }: { targetType: string; target: string }): void {
  if (!isConsoleTarget(targetType, target)) return;
  const isChannel = targetType === "channel";
  const beginning = isChannel ? consoleChannelPrefix : consoleUserPrefix;
  const message = isChannel ? newReason("console_channel") : newReason("console_user", { beginning });
  throw new Fault("invalid", message, {
    fields: [{ field: "target", message: newReason("starts_with", { beginning }) }],
  });
}

function namesItsTarget({ targetType, target }: { targetType?: unknown; target?: unknown }): boolean {
  const isAddressed = targetType !== "all" && targetTypes.some((type) => type === targetType);
  return !isAddressed || (target !== "" && target !== undefined);
}

/** The caller's own name, or any name for an admin; never a name that is reserved for the console. */
function nameFor(caller: Caller, asked: string | undefined): string {
  const name = asked ?? caller.username;
  if (isConsoleUser(name))
    throw new Fault("invalid", newReason("console_user", { beginning: consoleUserPrefix }), {
      fields: [{ field: "userId", message: newReason("starts_with", { beginning: consoleUserPrefix }) }],
    });
  if (name !== caller.username && !actsAsAdmin(caller))
    throw new Fault("forbidden", newReason("codes_for_others"));
  return name;
}

async function verdictOf(codes: PushCodes, code: string, asksTemporary: boolean) {
  const identity = await codes.redeem({ code, asksTemporary, address: "", origin: null });
  if (identity === null) throw new Fault("unauthenticated", newReason("code_unknown"));
  return {
    userId: identity.userId,
    temporary: identity.isTemporary,
    ...(identity.maxLifetimeMs === null ? {} : { maxLifetime: identity.maxLifetimeMs / 1000 }),
    ...(identity.channels === null ? {} : { channels: [...identity.channels] }),
    join: identity.joinsChannels,
    console: identity.isConsole,
  };
}
