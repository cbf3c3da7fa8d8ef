import type { Keepers } from "../../model/store.ts";
import { type Session, type User, userSchema } from "../../model/user.ts";
import { newReason } from "../../reason/reason.ts";
import { existing } from "../../revision.ts";
import { endedCookieHeaders, refuseForgery, sessionCookieHeader } from "../auth.ts";
import { limitKeyOf } from "../client-address.ts";
import { chosenLanguage, languageCookieHeader } from "../language.ts";
import { type ApiContext, audit, auditEntry, audited, callerOf } from "./context.ts";
import type { ApiDeps } from "./deps.ts";
import { found, newApi, routesOf } from "./route.ts";
import { text, time } from "./scalars.ts";
import { json, jsonOf, strict, z } from "./shape.ts";
import { keepTokens, newPassword, triedPassword, userJson, userShape } from "./user-shape.ts";

const route = routesOf("auth");
const { language } = userSchema.shape;

const login = route("post", "/auth/login", {
  summary: "Sign in",
  description:
    "Answers a session token for `Authorization: Bearer`. With `cookie: true` the token is set as an httpOnly cookie " +
    "instead and `token` is null; the console signs in this way. Limited per address and per username.",
  access: "anonymous",
  body: strict({
    username: text(256).openapi({ example: "admin" }),
    password: triedPassword,
    cookie: z.boolean().default(false),
  }),
  ok: json(
    "Signed in.",
    z.object({ token: z.string().nullable(), expiresAt: time, user: userShape }).openapi("SignIn"),
  ),
});

const logout = route("post", "/auth/logout", {
  summary: "Sign out",
  description: "Ends the session of the credential and its cookie.",
  access: "session",
});

export const meShape = userShape
  .extend({
    language: language.meta({
      description: "Language of the console; null: the language of the browser.",
    }),
    scopes: z.array(z.string()).nullable(),
    sessionId: z.number().int().nullable(),
  })
  .openapi("Me");

const me = route("get", "/auth/me", {
  summary: "Who am I",
  description: "The user behind the credential, and the scopes of the API token (null for a session).",
  access: "signed-in",
  ok: json("The caller.", meShape),
});

const changeMe = route("patch", "/auth/me", {
  summary: "Change the own preferences",
  description: "Sets the language of the console; null: the language of the browser.",
  access: "session",
  body: strict({ language }),
  ok: json("The caller.", meShape),
});

const changePassword = route("post", "/auth/password", {
  summary: "Change the own password",
  description:
    "Requires the old password. Ends all other sessions, revokes all API tokens of the user and unlinks all accounts at providers but that of " +
    "the session that asks; `keepTokens` keeps tokens and accounts.",
  access: "session",
  body: strict({ oldPassword: triedPassword, newPassword, keepTokens: keepTokens.default(false) }),
});

const sessionShape = z
  .object({
    id: z.number().int(),
    userAgent: z.string(),
    remoteIp: z.string(),
    createdAt: time,
    lastSeenAt: time,
    expiresAt: time,
    current: z.boolean().openapi({ description: "Whether it is the session that asks." }),
  })
  .openapi("Session");

const listSessions = route("get", "/auth/sessions", {
  summary: "List the own sessions",
  access: "session",
  ok: json("All sessions of the caller.", z.object({ items: z.array(sessionShape) })),
});

const endSession = route("delete", "/auth/sessions/{id}", {
  summary: "End one of the own sessions",
  access: "session",
});

export function authApi({ store, signIn, ownOrigins }: ApiDeps) {
  return newApi()
    .openapi(login, async (c) => {
      const { username, password, cookie } = c.req.valid("json");
      if (cookie) refuseForgery(c.req.raw, ownOrigins);
      const userAgent = c.req.header("user-agent") ?? "";
      const remoteIp = c.var.clientAddress;
      const limitKey = limitKeyOf(remoteIp);
      const made = await signIn.signIn({ username, password, userAgent, remoteIp, limitKey });
      const { token, session, user } = made;
      const { id: sessionId, expiresAt } = session;
      // By the name as it is stored, not as it was typed.
      const { id: userId, role } = user;
      const caller = { userId, username: user.username, role, scopes: null, sessionId, expiresAt };
      c.set("identity", { caller, via: cookie ? "cookie" : "bearer", fault: null });
      await audit(c, { action: "auth.login", subject: `user ${user.username}` });
      if (cookie)
        c.header("set-cookie", sessionCookieHeader(token, expiresAt, c.var.isSecureCookie), { append: true });
      const answer = { token: cookie ? null : token, expiresAt: expiresAt.toISOString() };
      keepLanguageCookie(c, user);
      return c.json({ ...answer, user: userJson(user) }, 200);
    })
    .openapi(logout, async (c) => {
      const caller = callerOf(c);
      await signIn.signOut(caller);
      c.var.consoleAccess.sessionEnded(caller.userId);
      await audit(c, { action: "auth.logout", subject: `user ${caller.username}` });
      if (c.var.identity.via === "cookie")
        for (const ended of endedCookieHeaders(c.var.isSecureCookie))
          c.header("set-cookie", ended, { append: true });
      return c.body(null, 204);
    })
    .openapi(me, async (c) => c.json(await meJson(c, store.users), 200))
    .openapi(changeMe, async (c) => {
      const { userId, scopes, sessionId } = callerOf(c);
      const { language } = c.req.valid("json");
      const user = existing(await store.users.update(userId, { language }), "user", userId);
      keepLanguageCookie(c, user);
      return c.json({ ...userJson(user), language: user.language, scopes, sessionId }, 200);
    })
    .openapi(changePassword, async (c) => {
      const caller = callerOf(c);
      const limitKey = limitKeyOf(c.var.clientAddress);
      const entry = { action: "auth.change-password", subject: `user ${caller.username}` };
      await signIn.changePassword(caller, { ...c.req.valid("json"), limitKey }, auditEntry(c, entry));
      c.var.consoleAccess.sessionEnded(caller.userId);
      return c.body(null, 204);
    })
    .openapi(listSessions, async (c) => {
      const { userId, sessionId } = callerOf(c);
      const sessions = await store.sessions.listOfUser(userId);
      const current = sessions.filter(({ expiresAt }) => expiresAt.getTime() > c.var.clock.now());
      return c.json({ items: current.map((session) => sessionJson(session, sessionId)) }, 200);
    })
    .openapi(endSession, async (c) => {
      const caller = callerOf(c);
      const { id } = c.req.valid("param");
      const own = await store.sessions.listOfUser(caller.userId);
      found(
        own.find((session) => session.id === id),
        newReason("no_own_session", { id }),
      );
      const entry = { action: "auth.end-session", subject: `user ${caller.username}`, detail: { id } };
      await audited(c, entry).sessions.delete(id);
      c.var.consoleAccess.sessionEnded(caller.userId);
      return c.body(null, 204);
    });
}

/** The page is served before the user is known, so the browser keeps the language that the user chose. */
function keepLanguageCookie(c: ApiContext, { language }: Pick<User, "language">): void {
  if (c.var.identity.via !== "cookie" || chosenLanguage(c.req.raw) === language) return;
  c.header("set-cookie", languageCookieHeader(language, c.var.isSecureCookie), { append: true });
}

/** The caller. The page follows the language of the account. */
export async function meJson(c: ApiContext, users: Pick<Keepers["users"], "byId">) {
  const { userId, scopes, sessionId } = callerOf(c);
  const user = existing(await users.byId(userId), "user", userId);
  keepLanguageCookie(c, user);
  return { ...userJson(user), language: user.language, scopes, sessionId };
}

function sessionJson(session: Session, currentId: number | null) {
  return jsonOf(sessionShape, { ...session, current: session.id === currentId });
}
