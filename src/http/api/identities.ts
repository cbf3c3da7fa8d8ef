import type { Identity } from "../../model/account/identity.ts";
import { newReason } from "../../reason/reason.ts";
import { existing } from "../../revision.ts";
import { type ApiContext, audited, callerOf } from "./context.ts";
import type { ApiDeps } from "./deps.ts";
import { found, newApi, routesOf } from "./route.ts";
import { time } from "./scalars.ts";
import { json, jsonOf, z } from "./shape.ts";

const identityShape = z
  .object({
    id: z.number().int(),
    provider: z.string().openapi({ example: "github" }),
    title: z
      .string()
      .openapi({ description: "Its title in the settings; its name if it is not there any more." }),
    host: z.string().openapi({ example: "github.com" }),
    login: z.string().openapi({ example: "ann" }),
    createdAt: time,
    lastUsedAt: time,
  })
  .openapi("Identity");
const listShape = z.object({ items: z.array(identityShape) });

const own = routesOf("auth");
const ofUser = routesOf("users");

const listOwn = own("get", "/auth/identities", {
  summary: "List the own accounts at providers",
  access: "session",
  ok: json("The accounts with which the caller can sign in.", listShape),
});

const unlinkOwn = own("delete", "/auth/identities/{id}", {
  summary: "Unlink an own account at a provider",
  description: "Ends the sessions that it has opened, also the one that asks.",
  access: "session",
});

const list = ofUser("get", "/users/{id}/identities", {
  summary: "List the accounts of a user at providers",
  access: "admin",
  ok: json("The accounts with which the user can sign in.", listShape),
});

const unlink = ofUser("delete", "/users/{id}/identities/{identityId}", {
  summary: "Unlink an account of a user at a provider",
  description: "Ends the sessions that it has opened.",
  access: "admin",
});

export function identitiesApi({ store, providers }: ApiDeps) {
  async function listJson(userId: number) {
    const titles = new Map(providers.list().map(({ name, title }) => [name, title]));
    const shown = (identity: Identity) =>
      jsonOf(identityShape, { ...identity, title: titles.get(identity.provider) ?? identity.provider });
    return { items: (await store.identities.ofUser(userId)).map(shown) };
  }

  async function end(
    c: ApiContext,
    action: "auth.unlink" | "user.unlink",
    user: { id: number; username: string },
    id: number,
  ): Promise<void> {
    const linked = (await store.identities.ofUser(user.id)).find((identity) => identity.id === id);
    const { provider, login } = found(linked, newReason("no_identity", { id }));
    const entry = { action, subject: `user ${user.username}`, detail: { provider, login } };
    await audited(c, entry).identities.delete(id);
    c.var.consoleAccess.sessionEnded(user.id);
  }

  return newApi()
    .openapi(listOwn, async (c) => c.json(await listJson(callerOf(c).userId), 200))
    .openapi(unlinkOwn, async (c) => {
      const { userId, username } = callerOf(c);
      await end(c, "auth.unlink", { id: userId, username }, c.req.valid("param").id);
      return c.body(null, 204);
    })
    .openapi(list, async (c) => {
      const { id } = c.req.valid("param");
      existing(await store.users.byId(id), "user", id);
      return c.json(await listJson(id), 200);
    })
    .openapi(unlink, async (c) => {
      const { id, identityId } = c.req.valid("param");
      const user = existing(await store.users.byId(id), "user", id);
      await end(c, "user.unlink", user, identityId);
      return c.body(null, 204);
    });
}
