import { type HostHook, hookStates } from "../../model/host/host-hook.ts";
import { newReason } from "../../reason/reason.ts";
import { reasonJson } from "../../reason/reason-json.ts";
import { type ApiContext, auditEntry, auditProject, projectChange, projectOf } from "./context.ts";
import type { ApiDeps } from "./deps.ts";
import { hostKind, tokenOwnerOf } from "./host-tokens.ts";
import { reasonPartsShape } from "./reason-shape.ts";
import { found, newApi, routesOf } from "./route.ts";
import { id, text, time } from "./scalars.ts";
import { json, jsonOf, strict, z } from "./shape.ts";

const route = routesOf("set-up");
const manage = { project: "manage" } as const;

const hookShape = z
  .object({
    kind: hostKind,
    origin: z.string(),
    path: z.string().openapi({ example: "group/shop" }),
    hasDeployKey: z.boolean(),
    isChecked: z.boolean().openapi({ description: "False: the token was deleted, so nothing is checked." }),
    state: z.enum(hookStates),
    note: z.string().openapi({ description: "What differs at the host." }),
    noteParts: reasonPartsShape,
    checkedAt: time,
  })
  .openapi("HostHook");

const readHook = route("get", "/projects/{id}/host-hook", {
  summary: "The webhook that was created at the Git host",
  access: { project: "view" },
  ok: json("Null: none was created.", z.object({ hook: hookShape.nullable() })),
});

const connectHook = route("post", "/projects/{id}/host-hook", {
  summary: "Create or repair the webhook at the Git host",
  description:
    "With a token of the caller for the server of the repository; an API token of Slipway may not use it. A webhook that has the same address is changed, otherwise one is created; " +
    "then it is read back. The stored secret is kept; without one, a secret is generated. With `deployKey`, a read-only ed25519 key is " +
    "created and stored as the clone credential. Needs `server.baseUrl`.",
  access: manage,
  body: strict({
    tokenId: id,
    deployKey: z.boolean().default(false),
    commitStatus: z.boolean().default(false).openapi({
      description:
        "Store the token also as the project's token for commit statuses, if it has none and the host accepts statuses.",
    }),
    path: text(1000, 1).optional().openapi({
      description:
        "The repository that the caller saw. Refused if the project has another one now; absent: as before, or the project's if the earlier one is gone from the host.",
      example: "group/shop",
    }),
  }),
  ok: json("The webhook as the host has it.", hookShape),
});

const checkHook = route("post", "/projects/{id}/host-hook/check", {
  summary: "Compare the webhook at the Git host now",
  description:
    "With a token of the caller for the same server: not necessarily the one that created it. It is also compared once a day.",
  access: manage,
  ok: json("What was found.", hookShape),
});

const deleteHook = route("delete", "/projects/{id}/host-hook", {
  summary: "Delete webhook and deploy key at the Git host",
  description:
    "With a token of the caller for the same server. If one of them cannot be deleted, 409 says which, and why. With `keep=true` " +
    "the host is not called: they are only forgotten here, as for a repository that no longer exists.",
  access: manage,
  query: { keep: z.enum(["true"]).optional() },
});

export function hostHooksApi({ setUp: { hooks, calls } }: ApiDeps) {
  const hookOf = async (c: ApiContext) => {
    const project = projectOf(c);
    const hook = await hooks.ofProject(project.id);
    return { project, hook: found(hook, newReason("no_host_hook", { project: project.name })) };
  };
  return newApi()
    .openapi(readHook, async (c) => {
      const hook = await hooks.ofProject(projectOf(c).id);
      return c.json({ hook: hook && hookJson(hook) }, 200);
    })
    .openapi(connectHook, async (c) => {
      const project = projectOf(c);
      const owner = tokenOwnerOf(c);
      const hook = await calls(owner, () =>
        hooks.connect(project, owner, c.req.valid("json"), (changes) =>
          auditEntry(c, projectChange("host-hook.connect", project, { ...changes })),
        ),
      );
      return c.json(hookJson(hook), 200);
    })
    .openapi(checkHook, async (c) => {
      const { hook } = await hookOf(c);
      const owner = tokenOwnerOf(c);
      return c.json(hookJson(await calls(owner, () => hooks.checkFor(owner, hook))), 200);
    })
    .openapi(deleteHook, async (c) => {
      const { project, hook } = await hookOf(c);
      const { origin, path } = hook;
      if (c.req.valid("query").keep === "true") {
        await hooks.forget(hook);
        await auditProject(c, "host-hook.forget", project, { origin, path });
        return c.body(null, 204);
      }
      const owner = tokenOwnerOf(c);
      await calls(owner, () => hooks.disconnect(hook, owner));
      await auditProject(c, "host-hook.delete", project, { origin, path });
      return c.body(null, 204);
    });
}

function hookJson(hook: HostHook) {
  const { keyId, tokenId, note } = hook;
  const shown = { hasDeployKey: keyId !== null, isChecked: tokenId !== null, ...reasonJson({ note }) };
  return jsonOf(hookShape, { ...hook, ...shown });
}
