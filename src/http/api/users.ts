import { adminsLock, changeUser, deleteUser as deleteUserOperation } from "../../account/change-user.ts";
import { Fault } from "../../errors.ts";
import { userSchema } from "../../model/user.ts";
import { ruleText } from "../../reason/rule-text.ts";
import { existing } from "../../revision.ts";
import { auditEntry, audited } from "./context.ts";
import type { ApiDeps } from "./deps.ts";
import { tagged, withTag } from "./revision.ts";
import { newApi, routesOf } from "./route.ts";
import { text } from "./scalars.ts";
import { json, listJson, listOf, onlyGiven, pageQuery, strict, z } from "./shape.ts";
import { keepTokens, newPassword, newUsername, userJson, userShape } from "./user-shape.ts";

const route = routesOf("users");
const access = "admin";
const { role } = userSchema.shape;

const listUsers = route("get", "/users", {
  summary: "List users",
  access,
  query: pageQuery,
  ok: json("One page of users.", listOf(userShape, "UserList")),
});

const createUser = route("post", "/users", {
  summary: "Add a user",
  description:
    "A `user` sees nothing until made a member of a project or group; an `admin` may do everything.",
  access,
  body: strict({ username: newUsername, password: newPassword, role: role.default("user") }),
  created: json("The new user.", userShape),
});

const getUser = route("get", "/users/{id}", {
  summary: "One user",
  access,
  ok: tagged("The user.", userShape),
});

const findUser = route("get", "/users/by-name/{username}", {
  summary: "The id of a user",
  description:
    "By its exact name, whatever the case: for the manager who adds a member without being an admin.",
  access: "manager",
  params: { username: text(256, 1).openapi({ param: { name: "username", in: "path" }, example: "ann" }) },
  ok: json("The user.", z.object({ id: z.number().int(), username: z.string() }).openapi("UserName")),
});

const updateUser = route("patch", "/users/{id}", {
  summary: "Change a user",
  description:
    "Omitted fields are unchanged. A disabled user loses access at once; a new password ends all sessions, revokes all API tokens " +
    "and unlinks all accounts of the user at providers; `keepTokens` keeps tokens and accounts. " +
    "The last administrator can be neither disabled nor demoted.",
  access,
  body: strict({
    role: role.optional(),
    disabled: z.boolean().optional(),
    password: newPassword.optional(),
    keepTokens: keepTokens.optional(),
  }).refine(({ password, keepTokens }) => keepTokens === undefined || password !== undefined, {
    path: ["keepTokens"],
    message: ruleText("keep_tokens_alone"),
  }),
  ok: tagged("The user as it is now.", userShape),
});

const deleteUser = route("delete", "/users/{id}", {
  summary: "Delete a user",
  description: "With all sessions, tokens and memberships. The last administrator stays.",
  access,
});

const endSessions = route("delete", "/users/{id}/sessions", {
  summary: "End all sessions of a user",
  access,
});

export function usersApi({ store, passwords, clock }: ApiDeps) {
  function inTurn<T>(done: T | "timeout"): T {
    if (done !== "timeout") return done;
    throw new Fault("unavailable", "Users are being changed elsewhere; try again.", {
      isShown: true,
      retryAfterSeconds: 1,
    });
  }

  return newApi()
    .openapi(listUsers, async (c) =>
      c.json(listJson(await store.users.list(c.req.valid("query")), userJson), 200),
    )
    .openapi(createUser, async (c) => {
      const { username, password, role } = c.req.valid("json");
      const passwordHash = await passwords.hash(password);
      const createdAt = new Date(clock.now());
      const entry = { action: "user.create", subject: `user ${username}`, detail: { role } };
      const user = await audited(c, entry).users.create({ username, passwordHash, role, createdAt });
      return c.json(userJson(user), 201);
    })
    .openapi(getUser, async (c) => {
      const { id } = c.req.valid("param");
      return c.json(withTag(c, userJson(existing(await store.users.byId(id), "user", id))), 200);
    })
    .openapi(findUser, async (c) => {
      const asked = c.req.valid("param").username;
      const { id, username } = existing(await store.users.byUsername(asked), "user", asked);
      return c.json({ id, username }, 200);
    })
    .openapi(updateUser, async (c) => {
      const { id } = c.req.valid("param");
      const { password, keepTokens = false, ...change } = c.req.valid("json");
      const passwordHash = password === undefined ? undefined : await passwords.hash(password);
      const asked = {
        id,
        ifMatch: c.req.valid("header")["if-match"],
        change: onlyGiven(change),
        passwordHash,
        keepTokens,
        audited: auditEntry(c, { action: "user.update", subject: "" }),
      };
      const user = inTurn(await store.run(changeUser, asked, adminsLock));
      c.var.consoleAccess.permissionsChanged([id]);
      if (passwordHash !== undefined) c.var.consoleAccess.sessionEnded(id);
      return c.json(withTag(c, userJson(user)), 200);
    })
    .openapi(deleteUser, async (c) => {
      const { id } = c.req.valid("param");
      const audited = auditEntry(c, { action: "user.delete", subject: "" });
      inTurn(await store.run(deleteUserOperation, { id, audited }, adminsLock));
      c.var.consoleAccess.permissionsChanged([id]);
      return c.body(null, 204);
    })
    .openapi(endSessions, async (c) => {
      const { id } = c.req.valid("param");
      const user = existing(await store.users.byId(id), "user", id);
      const { length: ended } = await store.sessions.listOfUser(id);
      const entry = { action: "user.end-sessions", subject: `user ${user.username}`, detail: { ended } };
      await audited(c, entry).sessions.deleteOfUser(id);
      c.var.consoleAccess.sessionEnded(id);
      return c.body(null, 204);
    });
}
