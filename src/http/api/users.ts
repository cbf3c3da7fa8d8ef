import { endCredentials } from "../../account/end-credentials.ts";
import type { Passwords } from "../../account/password.ts";
import type { Clock } from "../../clock.ts";
import { Fault } from "../../errors.ts";
import type { Keepers, Store } from "../../model/store.ts";
import type { User } from "../../model/user.ts";
import { audit } from "./context.ts";
import { changedMeanwhile, ifMatch, refuseIfChanged, tagged, withTag } from "./revision.ts";
import { found, newApi, route } from "./route.ts";
import { idParams, text } from "./scalars.ts";
import { json, jsonBody, listJson, listOf, noContent, onlyGiven, pageQuery, strict, z } from "./shape.ts";
import { keepTokens, newPassword, newUsername, userJson, userRevision, userShape } from "./user-shape.ts";

const tags = ["users"];
const access = "admin";
const role = z.enum(["admin", "user"]);

const listUsers = route({
  method: "get",
  path: "/users",
  tags,
  summary: "List users",
  access,
  request: { query: strict(pageQuery) },
  responses: { 200: json("One page of users.", listOf(userShape, "UserList")) },
});

const createUser = route({
  method: "post",
  path: "/users",
  tags,
  summary: "Add a user",
  description:
    "A `user` sees nothing until made a member of a project or group; an `admin` may do everything.",
  access,
  request: {
    body: jsonBody(strict({ username: newUsername, password: newPassword, role: role.default("user") })),
  },
  responses: { 201: json("The new user.", userShape) },
});

const getUser = route({
  method: "get",
  path: "/users/{id}",
  tags,
  summary: "One user",
  access,
  request: { params: idParams("id") },
  responses: { 200: tagged("The user.", userShape) },
});

const findUser = route({
  method: "get",
  path: "/users/by-name/{username}",
  tags,
  summary: "The id of a user",
  description:
    "By its exact name, whatever the case: for the manager who adds a member without being an admin.",
  access: "signed-in",
  request: {
    params: z.object({
      username: text(256, 1).openapi({ param: { name: "username", in: "path" }, example: "ann" }),
    }),
  },
  responses: {
    200: json("The user.", z.object({ id: z.number().int(), username: z.string() }).openapi("UserName")),
  },
});

const updateUser = route({
  method: "patch",
  path: "/users/{id}",
  tags,
  summary: "Change a user",
  description:
    "Omitted fields are unchanged. A disabled user loses access at once; a new password ends all sessions and revokes all API tokens " +
    "of the user, `keepTokens` keeps the tokens. " +
    "The last administrator can be neither disabled nor demoted.",
  access,
  faults: changedMeanwhile,
  request: {
    params: idParams("id"),
    headers: ifMatch,
    body: jsonBody(
      strict({
        role: role.optional(),
        disabled: z.boolean().optional(),
        password: newPassword.optional(),
        keepTokens: keepTokens.optional(),
      }).refine(({ password, keepTokens }) => keepTokens === undefined || password !== undefined, {
        path: ["keepTokens"],
        message: "needs a new password",
      }),
    ),
  },
  responses: { 200: tagged("The user as it is now.", userShape) },
});

const deleteUser = route({
  method: "delete",
  path: "/users/{id}",
  tags,
  summary: "Delete a user",
  description: "With all sessions, tokens and memberships. The last administrator stays.",
  access,
  request: { params: idParams("id") },
  responses: { 204: noContent },
});

const endSessions = route({
  method: "delete",
  path: "/users/{id}/sessions",
  tags,
  summary: "End all sessions of a user",
  access,
  request: { params: idParams("id") },
  responses: { 204: noContent },
});

/** Changes of who is admin are made one at a time, or two could each leave the other as the last one. */
const adminsLock = "admins";
const lockWaitMs = 5_000;

export interface UsersDeps {
  store: Store;
  passwords: Passwords;
  clock: Clock;
}

export function usersApi({ store, passwords, clock }: UsersDeps) {
  async function oneByOne<T>(work: (keepers: Keepers) => Promise<T>): Promise<T> {
    const done = await store.withLock(adminsLock, lockWaitMs, (locked) => locked.transaction(work));
    if (done === "timeout")
      throw new Fault("unavailable", "Users are being changed elsewhere; try again.", {
        retryAfterSeconds: 1,
      });
    return done;
  }

  return newApi()
    .openapi(listUsers, async (c) =>
      c.json(listJson(await store.users.list(c.req.valid("query")), userJson), 200),
    )
    .openapi(createUser, async (c) => {
      const { username, password, role } = c.req.valid("json");
      const passwordHash = await passwords.hash(password);
      const createdAt = new Date(clock.now());
      const user = await store.users.create({ username, passwordHash, role, createdAt });
      await audit(c, { action: "user.create", subject: `user ${username}`, detail: { role } });
      return c.json(userJson(user), 201);
    })
    .openapi(getUser, async (c) => {
      const { id } = c.req.valid("param");
      return c.json(withTag(c, userJson(found(await store.users.byId(id), `user ${id}`))), 200);
    })
    .openapi(findUser, async (c) => {
      const asked = c.req.valid("param").username;
      const { id, username } = found(await store.users.byUsername(asked), `user ${asked}`);
      return c.json({ id, username }, 200);
    })
    .openapi(updateUser, async (c) => {
      const { id } = c.req.valid("param");
      const { password, keepTokens = false, ...change } = c.req.valid("json");
      const passwordHash = password === undefined ? undefined : await passwords.hash(password);
      const user = await oneByOne(async (keepers) => {
        const before = found(await keepers.users.byId(id), `user ${id}`);
        refuseIfChanged(c.req.valid("header")["if-match"], userRevision(before), "user");
        if (change.disabled === true || change.role === "user") await keepAnAdmin(keepers, before);
        const after = await keepers.users.update(id, onlyGiven({ ...change, passwordHash }));
        const hasNewPassword = passwordHash !== undefined;
        // Tokens of a disabled user are refused; they work again when the user is enabled.
        const ended =
          hasNewPassword || change.disabled
            ? await endCredentials(keepers, id, { keepTokens: keepTokens || !hasNewPassword })
            : {};
        const detail = { ...onlyGiven(change), passwordChanged: hasNewPassword, ...ended };
        await audit(c, { action: "user.update", subject: `user ${before.username}`, detail }, keepers);
        return found(after, `user ${id}`);
      });
      c.var.consoleAccess.permissionsChanged([id]);
      if (passwordHash !== undefined) c.var.consoleAccess.sessionEnded(id);
      return c.json(withTag(c, userJson(user)), 200);
    })
    .openapi(deleteUser, async (c) => {
      const { id } = c.req.valid("param");
      await oneByOne(async (keepers) => {
        const user = found(await keepers.users.byId(id), `user ${id}`);
        await keepAnAdmin(keepers, user);
        await keepers.users.delete(id);
        await audit(c, { action: "user.delete", subject: `user ${user.username}` }, keepers);
      });
      c.var.consoleAccess.permissionsChanged([id]);
      return c.body(null, 204);
    })
    .openapi(endSessions, async (c) => {
      const { id } = c.req.valid("param");
      const user = found(await store.users.byId(id), `user ${id}`);
      const ended = await store.sessions.deleteOfUser(id);
      c.var.consoleAccess.sessionEnded(id);
      await audit(c, { action: "user.end-sessions", subject: `user ${user.username}`, detail: { ended } });
      return c.body(null, 204);
    });
}

async function keepAnAdmin(keepers: Keepers, user: User): Promise<void> {
  if (user.role !== "admin" || user.disabled) return;
  if ((await keepers.users.countAdmins()) <= 1)
    throw new Fault("conflict", "This is the last administrator; make another user admin first.");
}
