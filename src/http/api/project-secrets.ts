import { Fault } from "../../errors.ts";
import { sshKeyFault } from "../../model/git/ssh-key.ts";
import type { GitCredential, ProjectKeeper } from "../../model/project.ts";
import { isReservedSecret, reservedSecrets, sealedPurpose } from "../../model/sealed.ts";
import { reasonText } from "../../reason/reason.ts";
import type { Secrets } from "../../secrets.ts";
import type { Poller } from "../../webhook/poll/poller.ts";
import { type ApiContext, audited, projectChange, projectOf } from "./context.ts";
import { variableName } from "./project-shape.ts";
import { found, newApi, routesOf } from "./route.ts";
import { idParams, text } from "./scalars.ts";
import { json, jsonBody, noContent, strict, z } from "./shape.ts";

const route = routesOf("projects");
const access = { project: "manage" } as const;
const maxSecrets = 100;

const secretParams = idParams("id").extend({
  name: variableName.openapi({ param: { name: "name", in: "path" }, example: "DEPLOY_KEY" }),
});

const setSecret = route("put", "/projects/{id}/secrets/{name}", {
  summary: "Store a secret of a project",
  description:
    "Scripts get it as an environment variable; it is masked in logs, stored encrypted, and never returned. `secretNames` of the " +
    "project lists the names.",
  access,
  request: { params: secretParams, body: jsonBody(strict({ value: text(65_536, 1) })) },
  responses: { 204: noContent },
});

const deleteSecret = route("delete", "/projects/{id}/secrets/{name}", {
  summary: "Delete a secret of a project",
  access,
  request: { params: secretParams },
  responses: { 204: noContent },
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
        const message = sshKeyFault(value);
        if (message !== null) context.addIssue({ code: "custom", message });
      }),
    }),
  ])
  .openapi("GitCredential");

const setCredential = route("put", "/projects/{id}/credential", {
  summary: "Store how the repository is cloned",
  description:
    "An access token for https addresses, or a private key for ssh. Stored encrypted and never returned.",
  access,
  request: { params: idParams("id"), body: jsonBody(credentialBody) },
  responses: { 204: noContent },
});

const deleteCredential = route("delete", "/projects/{id}/credential", {
  summary: "Delete the clone credential",
  access,
  request: { params: idParams("id") },
  responses: { 204: noContent },
});

/** Keys of a project that its scripts do not get, by the name in the path. */
const keyKinds = { "notify-key": reservedSecrets.notify, "status-token": reservedSecrets.status } as const;
const keyParams = idParams("id").extend({
  kind: z.enum(["notify-key", "status-token"]).openapi({
    param: { name: "kind", in: "path" },
    description:
      "`notify-key` signs outgoing webhooks; `status-token` reports commit statuses to the Git host.",
  }),
});

const setKey = route("put", "/projects/{id}/keys/{kind}", {
  summary: "Store a key of a project",
  description: "Stored encrypted and never returned.",
  access,
  request: { params: keyParams, body: jsonBody(strict({ value: text(4096, 1) })) },
  responses: { 204: noContent },
});

const deleteKey = route("delete", "/projects/{id}/keys/{kind}", {
  summary: "Delete a key of a project",
  access,
  request: { params: keyParams },
  responses: { 204: noContent },
});

const listKeys = route("get", "/projects/{id}/keys", {
  summary: "Which keys of a project are set",
  access: { project: "view" },
  request: { params: idParams("id") },
  responses: {
    200: json(
      "Whether each is set.",
      z.object({ notifyKeySet: z.boolean(), statusTokenSet: z.boolean() }).openapi("ProjectKeys"),
    ),
  },
});

export interface ProjectSecretsDeps {
  projects: ProjectKeeper;
  secrets: Secrets;
  pollNow: Poller["pollNow"];
}

export function projectSecretsApi({ projects, secrets, pollNow }: ProjectSecretsDeps) {
  async function store(c: ApiContext, name: string, value: string, action: string): Promise<void> {
    const project = projectOf(c);
    const ciphertext = secrets.seal(sealedPurpose.projectSecret(project.id, name), value);
    await audited(c, projectChange(action, project, { name })).projects.setSecret(
      project.id,
      name,
      ciphertext,
    );
  }

  async function remove(c: ApiContext, name: string, action: string): Promise<void> {
    const project = projectOf(c);
    const change = audited(c, projectChange(action, project, { name }));
    const wasSet = await change.projects.deleteSecret(project.id, name);
    found(
      wasSet || null,
      reasonText("no_project_secret", { name: name.replace(":", ""), project: project.name }),
    );
  }

  async function refuseTooMany(projectId: number, name: string): Promise<void> {
    const held = (await projects.secrets(projectId)).filter((secret) => !isReservedSecret(secret.name));
    if (held.length < maxSecrets || held.some((secret) => secret.name === name)) return;
    throw new Fault("conflict", reasonText("secrets_full", { count: held.length }));
  }

  return newApi()
    .openapi(setSecret, async (c) => {
      const { name } = c.req.valid("param");
      await refuseTooMany(projectOf(c).id, name);
      await store(c, name, c.req.valid("json").value, "project.set-secret");
      return c.body(null, 204);
    })
    .openapi(deleteSecret, async (c) => {
      await remove(c, c.req.valid("param").name, "project.delete-secret");
      return c.body(null, 204);
    })
    .openapi(setCredential, async (c) => {
      const credential: GitCredential = c.req.valid("json");
      await store(c, reservedSecrets.credential, JSON.stringify(credential), "project.set-credential");
      await pollNow(projectOf(c).id);
      return c.body(null, 204);
    })
    .openapi(deleteCredential, async (c) => {
      await remove(c, reservedSecrets.credential, "project.delete-credential");
      return c.body(null, 204);
    })
    .openapi(listKeys, async (c) => {
      const names = (await projects.secrets(projectOf(c).id)).map((secret) => secret.name);
      const notifyKeySet = names.includes(reservedSecrets.notify);
      return c.json({ notifyKeySet, statusTokenSet: names.includes(reservedSecrets.status) }, 200);
    })
    .openapi(setKey, async (c) => {
      await store(c, keyKinds[c.req.valid("param").kind], c.req.valid("json").value, "project.set-key");
      return c.body(null, 204);
    })
    .openapi(deleteKey, async (c) => {
      await remove(c, keyKinds[c.req.valid("param").kind], "project.delete-key");
      return c.body(null, 204);
    });
}
