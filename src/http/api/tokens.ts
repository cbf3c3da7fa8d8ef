import { createToken as createTokenOperation } from "../../account/create-token.ts";
import { newToken } from "../../account/credential.ts";
import { actsAsAdmin } from "../../account/permissions.ts";
import type { Clock } from "../../clock.ts";
import { Fault } from "../../errors.ts";
import type { ApiToken } from "../../model/user.ts";
import { newReason } from "../../reason/reason.ts";
import { ruleText } from "../../reason/rule-text.ts";
import { lineText } from "../../reason/schema-forms.ts";
import { hashToken } from "../../secrets.ts";
import { credentialOf } from "../auth.ts";
import { auditEntry, audited, callerOf } from "./context.ts";
import type { ApiDeps } from "./deps.ts";
import { found, newApi, routesOf } from "./route.ts";
import { bodyTime, queryId, time } from "./scalars.ts";
import { json, jsonOf, listJson, listOf, pageQuery, strict, z } from "./shape.ts";

const route = routesOf("tokens");
/** A token that could create tokens would outlive its own revocation, so only a token with every scope may do so. */
const scope = "admin";

const scopeShape = z.enum(["read", "write", "publish", "admin"]).openapi({
  description:
    "`read`: look at what the user may view. `write`: change it, and read. `publish`: push messages. `admin`: all that the user may.",
});

const tokenShape = z
  .object({
    id: z.number().int(),
    userId: z.number().int(),
    name: z.string().openapi({ example: "ci" }),
    hint: z.string().openapi({ description: "First characters, to recognise it by.", example: "slp_Xk3v" }),
    scopes: z.array(scopeShape),
    createdAt: time,
    lastUsedAt: time.nullable(),
    expiresAt: time.nullable(),
  })
  .openapi("ApiToken");

const listTokens = route("get", "/tokens", {
  summary: "List API tokens",
  description:
    "The caller's own; an admin sees all, or those of `userId`. The tokens themselves are never shown again.",
  access: "signed-in",
  query: { ...pageQuery, userId: queryId.optional() },
  ok: json("One page of tokens.", listOf(tokenShape, "ApiTokenList")),
});

/** A function, because a time to come depends on the clock. */
const createToken = (clock: Clock) =>
  route("post", "/tokens", {
    summary: "Make an API token",
    description:
      "It acts as the caller, within its scopes, until it expires or is revoked. `token` is shown this once: what is stored is " +
      "its hash.",
    access: "signed-in",
    scope,
    body: strict({
      name: lineText,
      scopes: z
        .array(scopeShape)
        .min(1)
        .max(4)
        .default(["read"])
        .transform((scopes) => [...new Set(scopes)]),
      expiresAt: bodyTime
        .refine((at) => Date.parse(at) > clock.now(), ruleText("time_past"))
        .nullable()
        .default(null),
    }),
    created: json("The token, shown once.", tokenShape.extend({ token: z.string() }).openapi("NewApiToken")),
  });

const revokeToken = route("delete", "/tokens/{id}", {
  summary: "Revoke an API token",
  description: "It is invalid at once. An admin may revoke anybody's.",
  access: "signed-in",
  scope,
});

export function tokensApi({ store, clock }: ApiDeps) {
  const { apiTokens } = store;
  return newApi()
    .openapi(listTokens, async (c) => {
      const caller = callerOf(c);
      const { userId, ...query } = c.req.valid("query");
      if (userId !== undefined && userId !== caller.userId && !actsAsAdmin(caller))
        throw new Fault("forbidden", newReason("admins_only_tokens"));
      const owner = userId ?? (actsAsAdmin(caller) ? undefined : caller.userId);
      const page = await apiTokens.list(owner === undefined ? {} : { userId: owner }, query);
      return c.json(listJson(page, tokenJson), 200);
    })
    .openapi(createToken(clock), async (c) => {
      const caller = callerOf(c);
      const { name, scopes, expiresAt: expires } = c.req.valid("json");
      const now = clock.now();
      const expiresAt = expires === null ? null : new Date(expires);
      const token = newToken("api");
      const detail = { scopes, expiresAt: expiresAt?.toISOString() ?? null };
      const made = await store.run(createTokenOperation, {
        audited: auditEntry(c, { action: "token.create", subject: `token ${name}`, detail }),
        credential: credentialOf(c.req.raw.headers) ?? "",
        token: {
          userId: caller.userId,
          name,
          tokenHash: hashToken(token),
          hint: token.slice(0, 8),
          scopes,
          createdAt: new Date(now),
          expiresAt,
        },
      });
      return c.json({ ...tokenJson(made), token }, 201);
    })
    .openapi(revokeToken, async (c) => {
      const caller = callerOf(c);
      const { id } = c.req.valid("param");
      const token = await apiTokens.byId(id);
      const isOurs = token !== null && (token.userId === caller.userId || actsAsAdmin(caller));
      const { name, userId } = found(isOurs ? token : null, newReason("no_own_token", { id }));
      const entry = { action: "token.revoke", subject: `token ${name}`, detail: { id, userId } };
      await audited(c, entry).apiTokens.delete(id);
      c.var.consoleAccess.sessionEnded(userId);
      return c.body(null, 204);
    });
}

function tokenJson(token: ApiToken) {
  return jsonOf(tokenShape, token);
}
