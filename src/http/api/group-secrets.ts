import { sealedPurpose } from "../../model/sealed.ts";
import { newReason } from "../../reason/reason.ts";
import { changeSecretUse, storeSecret } from "../../task/store-secret.ts";
import { auditEntry, audited, groupChange, groupOf } from "./context.ts";
import type { ApiDeps } from "./deps.ts";
import { found, newApi, routesOf } from "./route.ts";
import { secretBody, secretParams, secretUseBody } from "./secret-shape.ts";
import { onlyGiven } from "./shape.ts";

const route = routesOf("groups");
const access = { group: "manage" } as const;

const setSecret = route("put", "/groups/{id}/secrets/{name}", {
  summary: "Store a secret of a group",
  description:
    "The scripts of all its projects get it, as if it were a secret of the project; a variable or a secret of the project with the same name hides it. All secrets of a group may have 512 KiB together.",
  access,
  params: secretParams,
  body: secretBody,
});

const changeScope = route("patch", "/groups/{id}/secrets/{name}", {
  summary: "Choose the stages that get a secret of a group, and its form",
  description: "To give a secret of `deploy` to all stages, store its value again.",
  access,
  params: secretParams,
  body: secretUseBody,
});

const deleteSecret = route("delete", "/groups/{id}/secrets/{name}", {
  summary: "Delete a secret of a group",
  access,
  params: secretParams,
});

export function groupSecretsApi({ store, secrets }: ApiDeps) {
  function mustBeSet(wasSet: boolean, group: string, name: string): void {
    found(wasSet || null, newReason("no_group_secret", { name, group }));
  }

  return newApi()
    .openapi(setSecret, async (c) => {
      const { name } = c.req.valid("param");
      const { value, scope, as } = c.req.valid("json");
      const group = groupOf(c);
      const ciphertext = secrets.seal(sealedPurpose.groupSecret(group.id, name), value);
      await store.run(storeSecret, {
        ...{ owner: { noun: "group", id: group.id }, name, ciphertext, scope, as },
        audited: auditEntry(c, groupChange("group.set-secret", group, { name, ...onlyGiven({ scope, as }) })),
      });
      return c.body(null, 204);
    })
    .openapi(changeScope, async (c) => {
      const { name } = c.req.valid("param");
      const use = onlyGiven(c.req.valid("json"));
      const group = groupOf(c);
      const entry = auditEntry(c, groupChange("group.set-secret-scope", group, { name, ...use }));
      const change = { owner: { noun: "group", id: group.id } as const, name, use, audited: entry };
      mustBeSet(await store.run(changeSecretUse, change), group.name, name);
      return c.body(null, 204);
    })
    .openapi(deleteSecret, async (c) => {
      const { name } = c.req.valid("param");
      const group = groupOf(c);
      const change = audited(c, groupChange("group.delete-secret", group, { name }));
      mustBeSet(await change.groups.deleteSecret(group.id, name), group.name, name);
      return c.body(null, 204);
    });
}
