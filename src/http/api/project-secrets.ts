import { sshKeyFault } from "../../model/git/ssh-key.ts";
import type { GitCredential, Project } from "../../model/project.ts";
import { reservedSecrets, sealedPurpose } from "../../model/sealed.ts";
import { newReason } from "../../reason/reason.ts";
import { changeSecretUse, storeSecret } from "../../task/store-secret.ts";
import { type ApiContext, auditEntry, audited, projectChange, projectOf } from "./context.ts";
import type { ApiDeps } from "./deps.ts";
import { found, newApi, routesOf } from "./route.ts";
import { text } from "./scalars.ts";
import { secretBody, secretParams, secretUseBody } from "./secret-shape.ts";
import { json, onlyGiven, strict, z } from "./shape.ts";

const route = routesOf("projects");
const access = { project: "manage" } as const;

const setSecret = route("put", "/projects/{id}/secrets/{name}", {
  ofEnvironments: true,
  summary: "Store a secret of a project",
  description:
    "Scripts get it as an environment variable; it is masked in logs, stored encrypted, and never returned. `secrets` of the " +
    "project lists names and scopes. Without `scope` and `as` a stored secret keeps them, and a new one is given to all stages as a variable. All " +
    "secrets of a project may have 512 KiB together.",
  access,
  params: secretParams,
  body: secretBody,
});

const changeScope = route("patch", "/projects/{id}/secrets/{name}", {
  ofEnvironments: true,
  summary: "Choose the stages that get a secret, and its form",
  description: "To give a secret of `deploy` to all stages, store its value again.",
  access,
  params: secretParams,
  body: secretUseBody,
});

const deleteSecret = route("delete", "/projects/{id}/secrets/{name}", {
  ofEnvironments: true,
  summary: "Delete a secret of a project",
  access,
  params: secretParams,
});

export const credentialBody = z
  .discriminatedUnion("type", [
    strict({
      type: z.literal("token"),
      username: text(256)
        .default("git")
        .openapi({ description: "What the Git host expects beside the token." }),
      token: text(4096, 1),
    }),
    strict({
      type: z.literal("ssh"),
      privateKey: text(32_768, 1).superRefine((value, context) => {
        const fault = sshKeyFault(value);
        if (fault !== null) context.addIssue({ code: "custom", message: JSON.stringify(fault) });
      }),
    }),
  ])
  .openapi("GitCredential");

const setCredential = route("put", "/projects/{id}/credential", {
  summary: "Store how the repository is cloned",
  description:
    "An access token for https addresses, or a private key for ssh. Stored encrypted and never returned.",
  access,
  body: credentialBody,
});

const deleteCredential = route("delete", "/projects/{id}/credential", {
  summary: "Delete the clone credential",
  access,
});

/** Keys of a project that its scripts do not get, by the name in the path. */
export const keyKinds = {
  "notify-key": reservedSecrets.notify,
  "status-token": reservedSecrets.status,
} as const;
const keyParams = {
  kind: z.enum(["notify-key", "status-token"]).openapi({
    param: { name: "kind", in: "path" },
    description:
      "`notify-key` signs outgoing webhooks; `status-token` reports commit statuses to the Git host.",
  }),
};

export const keyBody = strict({ value: text(4096, 1) });

const setKey = route("put", "/projects/{id}/keys/{kind}", {
  summary: "Store a key of a project",
  description: "Stored encrypted and never returned.",
  access,
  params: keyParams,
  body: keyBody,
});

const deleteKey = route("delete", "/projects/{id}/keys/{kind}", {
  summary: "Delete a key of a project",
  access,
  params: keyParams,
});

const keysShape = z.object({ notifyKeySet: z.boolean(), statusTokenSet: z.boolean() }).openapi("ProjectKeys");
export type KeysAnswer = z.infer<typeof keysShape>;

const listKeys = route("get", "/projects/{id}/keys", {
  summary: "Which keys of a project are set",
  access: { project: "view" },
  ok: json("Whether each is set.", keysShape),
});

export function projectSecretsApi({ store, secrets, webhook }: ApiDeps) {
  const seal = (projectId: number, name: string, value: string) =>
    secrets.seal(sealedPurpose.projectSecret(projectId, name), value);

  async function keep(c: ApiContext, name: string, value: string, action: string): Promise<void> {
    const project = projectOf(c);
    const change = audited(c, projectChange(action, project, { name }));
    await change.projects.setSecret(project.id, name, seal(project.id, name, value));
  }

  async function remove(c: ApiContext, name: string, action: string): Promise<void> {
    const project = projectOf(c);
    const change = audited(c, projectChange(action, project, { name }));
    mustBeSet(await change.projects.deleteSecret(project.id, name), project, name);
  }

  function mustBeSet(wasSet: boolean, project: Project, name: string): void {
    found(
      wasSet || null,
      newReason("no_project_secret", { name: name.replace(":", ""), project: project.name }),
    );
  }

  return newApi()
    .openapi(setSecret, async (c) => {
      const { name } = c.req.valid("param");
      const { value, scope, as } = c.req.valid("json");
      const project = projectOf(c);
      const detail = { name, ...onlyGiven({ scope, as }) };
      await store.run(storeSecret, {
        ...{ owner: { noun: "project", id: project.id }, name, ciphertext: seal(project.id, name, value) },
        ...{ scope, as },
        audited: auditEntry(c, projectChange("project.set-secret", project, detail)),
      });
      return c.body(null, 204);
    })
    .openapi(changeScope, async (c) => {
      const { name } = c.req.valid("param");
      const use = onlyGiven(c.req.valid("json"));
      const project = projectOf(c);
      const entry = auditEntry(c, projectChange("project.set-secret-scope", project, { name, ...use }));
      const change = { owner: { noun: "project", id: project.id } as const, name, use, audited: entry };
      mustBeSet(await store.run(changeSecretUse, change), project, name);
      return c.body(null, 204);
    })
    .openapi(deleteSecret, async (c) => {
      await remove(c, c.req.valid("param").name, "project.delete-secret");
      return c.body(null, 204);
    })
    .openapi(setCredential, async (c) => {
      const credential: GitCredential = c.req.valid("json");
      await keep(c, reservedSecrets.credential, JSON.stringify(credential), "project.set-credential");
      await webhook.pollNow(projectOf(c).id);
      return c.body(null, 204);
    })
    .openapi(deleteCredential, async (c) => {
      await remove(c, reservedSecrets.credential, "project.delete-credential");
      return c.body(null, 204);
    })
    .openapi(listKeys, async (c) => {
      const names = (await store.projects.secrets(projectOf(c).id)).map((secret) => secret.name);
      const notifyKeySet = names.includes(reservedSecrets.notify);
      return c.json({ notifyKeySet, statusTokenSet: names.includes(reservedSecrets.status) }, 200);
    })
    .openapi(setKey, async (c) => {
      await keep(c, keyKinds[c.req.valid("param").kind], c.req.valid("json").value, "project.set-key");
      return c.body(null, 204);
    })
    .openapi(deleteKey, async (c) => {
      await remove(c, keyKinds[c.req.valid("param").kind], "project.delete-key");
      return c.body(null, 204);
    });
}
