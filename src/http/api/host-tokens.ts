import { Fault } from "../../errors.ts";
import { hostKinds } from "../../git-host/hosts.ts";
import type { HostToken } from "../../model/host/host-token.ts";
import { newReason } from "../../reason/reason.ts";
import { ruleText } from "../../reason/rule-text.ts";
import { type ApiContext, audit, callerOf } from "./context.ts";
import type { ApiDeps } from "./deps.ts";
import { newApi, routesOf } from "./route.ts";
import { text, time } from "./scalars.ts";
import { json, jsonOf, strict, z } from "./shape.ts";

const route = routesOf("set-up");

export const hostKind = z.enum(hostKinds).openapi({ description: "Which API the Git host has." });

const tokenShape = z
  .object({
    id: z.number().int(),
    kind: hostKind,
    origin: z.string().openapi({ example: "https://gitlab.example.com" }),
    hint: z.string().openapi({ description: "Its last characters.", example: "x7Qd" }),
    login: z.string().openapi({ description: "The account at the host; empty: not known.", example: "ann" }),
    scopes: z
      .array(z.string())
      .nullable()
      .openapi({ description: "What the token may do; null: the host does not say." }),
    expiresAt: time.nullable().openapi({ description: "Null: never, or the host does not say." }),
    createdAt: time,
  })
  .openapi("HostToken");

const listTokens = route("get", "/host-tokens", {
  summary: "Your tokens for Git hosts",
  description: "Only the caller's own. The tokens themselves are never returned.",
  access: "session",
  ok: json(
    "The tokens.",
    z
      .object({
        items: z.array(tokenShape),
        canCreateWebhooks: z.boolean().openapi({ description: "False: `server.baseUrl` is not set." }),
      })
      .openapi("HostTokenList"),
  ),
});

const saveToken = route("post", "/host-tokens", {
  summary: "Store a token for a Git host",
  description:
    "Slipway asks the host whose token it is and what it may do, and stores it encrypted if that is enough. It is used for the caller and " +
    "this server only; an earlier token for the same server is replaced. Internal addresses need `hosts.trusted`. " +
    "For users who may manage a project or a group.",
  access: "session",
  body: strict({
    kind: hostKind,
    url: text(500, 1)
      .refine(isWebAddress, ruleText("not_web_address"))
      .openapi({ description: "Address of the Git host; only scheme, host and port are used." }),
    token: text(4096, 1),
  }),
  created: json("The stored token, without its value.", tokenShape),
});

const forgetToken = route("delete", "/host-tokens/{id}", {
  summary: "Forget a token for a Git host",
  description: "Webhooks that were created with it stay at the host, but are not checked any more.",
  access: "session",
});

const listRepositories = route("get", "/host-tokens/{id}/repositories", {
  summary: "Repositories at a Git host",
  description:
    "At most 100 of those whose settings the token may change, the latest first. `search` is a part of the name; up to 1,000 repositories " +
    "are searched at a host that has no search for this list.",
  access: "session",
  query: { search: text(200).default("").openapi({ example: "shop" }) },
  ok: json(
    "The repositories.",
    z
      .object({
        items: z.array(
          z.object({
            path: z.string(),
            httpsUrl: z.string(),
            sshUrl: z.string(),
            isPrivate: z.boolean(),
          }),
        ),
        isCut: z
          .boolean()
          .openapi({ description: "True: there are more; search for a longer part of the name." }),
      })
      .openapi("HostRepositoryList"),
  ),
});

export function hostTokensApi({ setUp: { tokens, hooks, calls } }: ApiDeps) {
  return newApi()
    .openapi(listTokens, async (c) => {
      const items = await tokens.ofUser(callerOf(c).userId);
      return c.json({ items: items.map(tokenJson), canCreateWebhooks: hooks.canCreate() }, 200);
    })
    .openapi(saveToken, async (c) => {
      // The server connects to an address that the caller chose.
      if (!(await c.var.permissions.managesAny(callerOf(c))))
        throw new Fault("forbidden", newReason("managers_only_tokens"));
      const { kind, url, token } = c.req.valid("json");
      const { userId } = callerOf(c);
      const saved = await calls(userId, () => tokens.save(userId, kind, url, token));
      await audit(c, { action: "host-token.save", subject: `host token for ${saved.origin}` });
      return c.json(tokenJson(saved), 201);
    })
    .openapi(forgetToken, async (c) => {
      const { origin } = await tokens.forget(callerOf(c).userId, c.req.valid("param").id);
      await audit(c, { action: "host-token.forget", subject: `host token for ${origin}` });
      return c.body(null, 204);
    })
    .openapi(listRepositories, async (c) => {
      const { search } = c.req.valid("query");
      const { userId } = callerOf(c);
      const { id } = c.req.valid("param");
      return c.json(await calls(userId, () => tokens.repositories(userId, id, search)), 200);
    });
}

/** The user whose host token is used. An API token of the user could otherwise reach every repository of the host token. */
export function tokenOwnerOf(c: ApiContext): number {
  const { userId, sessionId } = callerOf(c);
  if (sessionId !== null) return userId;
  throw new Fault("forbidden", newReason("host_token_session"));
}

function tokenJson(token: HostToken) {
  return jsonOf(tokenShape, token);
}

function isWebAddress(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, username, password, hostname } = new URL(url);
  return ["https:", "http:"].includes(protocol) && username === "" && password === "" && hostname !== "";
}
