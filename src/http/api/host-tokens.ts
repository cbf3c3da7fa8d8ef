import { type HostToken, hostKinds } from "../../model/host/host-token.ts";
import type { HostTokens } from "../../set-up/host-tokens.ts";
import { audit, callerOf } from "./context.ts";
import { newApi, routesOf } from "./route.ts";
import { idParams, text, time } from "./scalars.ts";
import { json, jsonBody, noContent, strict, z } from "./shape.ts";

const route = routesOf("set-up");

export const hostKind = z.enum(hostKinds).openapi({ description: "Which API the Git host has." });

const tokenShape = z
  .object({
    id: z.number().int(),
    kind: hostKind,
    origin: z.string().openapi({ example: "https://gitlab.example.com" }),
    hint: z.string().openapi({ description: "Its last characters.", example: "x7Qd" }),
    createdAt: time,
  })
  .openapi("HostToken");

const listTokens = route("get", "/host-tokens", {
  summary: "Your tokens for Git hosts",
  description: "Only the caller's own. The tokens themselves are never returned.",
  access: "session",
  responses: { 200: json("The tokens.", z.object({ items: z.array(tokenShape) }).openapi("HostTokenList")) },
});

const saveToken = route("post", "/host-tokens", {
  summary: "Store a token for a Git host",
  description:
    "Slipway calls the host with it, and stores it encrypted if the host accepts it. It is used for the caller and this server only; " +
    "an earlier token for the same server is replaced. Internal addresses need `tasks.allowInternalNotifications`.",
  access: "session",
  request: {
    body: jsonBody(
      strict({
        kind: hostKind,
        url: text(500, 1)
          .refine(isWebAddress, "must be an address such as https://gitlab.example.com")
          .openapi({ description: "Address of the Git host; only scheme, host and port are used." }),
        token: text(4096, 1),
      }),
    ),
  },
  responses: { 201: json("The stored token, without its value.", tokenShape) },
});

const forgetToken = route("delete", "/host-tokens/{id}", {
  summary: "Forget a token for a Git host",
  description: "Webhooks that were created with it stay at the host, but are not checked any more.",
  access: "session",
  request: { params: idParams("id") },
  responses: { 204: noContent },
});

const listRepositories = route("get", "/host-tokens/{id}/repositories", {
  summary: "Repositories at a Git host",
  description: "Those whose settings the token may change: the first page of the host's answer.",
  access: "session",
  request: { params: idParams("id") },
  responses: {
    200: json(
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
        })
        .openapi("HostRepositoryList"),
    ),
  },
});

export function hostTokensApi(tokens: HostTokens) {
  return newApi()
    .openapi(listTokens, async (c) => {
      const items = await tokens.ofUser(callerOf(c).userId);
      return c.json({ items: items.map(tokenJson) }, 200);
    })
    .openapi(saveToken, async (c) => {
      const { kind, url, token } = c.req.valid("json");
      const saved = await tokens.save(callerOf(c).userId, kind, url, token);
      await audit(c, { action: "host-token.save", subject: `host token for ${saved.origin}` });
      return c.json(tokenJson(saved), 201);
    })
    .openapi(forgetToken, async (c) => {
      const { origin } = await tokens.forget(callerOf(c).userId, c.req.valid("param").id);
      await audit(c, { action: "host-token.forget", subject: `host token for ${origin}` });
      return c.body(null, 204);
    })
    .openapi(listRepositories, async (c) => {
      const items = await tokens.repositories(callerOf(c).userId, c.req.valid("param").id);
      return c.json({ items }, 200);
    });
}

function tokenJson({ id, kind, origin, hint, createdAt }: HostToken) {
  return { id, kind, origin, hint, createdAt: createdAt.toISOString() };
}

function isWebAddress(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, username, password, hostname } = new URL(url);
  return ["https:", "http:"].includes(protocol) && username === "" && password === "" && hostname !== "";
}
