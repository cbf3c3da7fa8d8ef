import { actsAsAdmin } from "../../account/permissions.ts";
import { Fault } from "../../errors.ts";
import { providerNames } from "../../git-host/hosts.ts";
import { isSeen } from "../../model/runner.ts";
import { serviceCheckSchema, serviceNameSchema, serviceSchema } from "../../model/service/service.ts";
import { type StageName, stageNames } from "../../model/stage/stage-name.ts";
import type { Store } from "../../model/store.ts";
import { newReason } from "../../reason/reason.ts";
import { reasonJson } from "../../reason/reason-json.ts";
import { presetNames } from "../../set-up/presets.ts";
import { type ApiContext, callerOf } from "./context.ts";
import type { ApiDeps } from "./deps.ts";
import { tokenOwnerOf } from "./host-tokens.ts";
import { credentialBody } from "./project-secrets.ts";
import { reasonPartsShape } from "./reason-shape.ts";
import { newApi, routesOf } from "./route.ts";
import { id, text } from "./scalars.ts";
import { json, strict, z } from "./shape.ts";

const route = routesOf("set-up");

const script = z.string();

const presetShape = z
  .object({
    name: z.enum(presetNames),
    because: z.string().openapi({ description: "The file that suggests the preset.", example: "Dockerfile" }),
    ...(Object.fromEntries(stageNames.map((name) => [name, script])) as Record<StageName, typeof script>),
    folder: z.string().openapi({ description: "Where its program is in the repository; empty: the root." }),
    env: z.record(z.string(), z.string()).openapi({
      description:
        "Variables that the scripts use. An empty one cannot be known from the repository: ask for it.",
    }),
    cache: z.array(z.string()),
    hostStages: z.array(z.enum(["deploy", "start"])).openapi({
      description:
        "Stages that change the machine itself: their steps need `host`, which only an administrator may set, and a runner with runner.hostSteps.",
    }),
    services: z.record(serviceNameSchema, serviceSchema).openapi({
      description: "What stays up, instead of a script of `start`.",
    }),
    check: serviceCheckSchema.nullable().openapi({ description: "Of the script of `start`." }),
  })
  .openapi("Preset");

const inspectRepository = route("post", "/repositories/inspect", {
  summary: "Read a repository before it becomes a project",
  description:
    "Detects the Git host, reads the branches and the files with the given credential, and suggests stages. Nothing is " +
    "stored. If the repository cannot be read, `problem` says why. For admins and for managers of a group.",
  access: "signed-in",
  body: strict({
    url: text(2000, 1),
    credential: credentialBody.optional(),
    hostTokenId: id.optional().openapi({
      description: "Instead of `credential`: a token of the caller for this server; needs a session.",
    }),
  }),
  ok: json(
    "What was found.",
    z
      .object({
        provider: z.enum(providerNames).nullable(),
        name: z.string(),
        problem: z.string(),
        problemParts: reasonPartsShape,
        needsCredential: z.boolean(),
        defaultBranch: z.string().nullable(),
        branches: z.array(z.string()),
        presets: z.array(presetShape),
        proxy: z
          .object({
            name: z.enum(["caddy", "nginx"]).nullable(),
            note: z.string(),
            noteParts: reasonPartsShape,
          })
          .openapi({
            description:
              "The proxy of the runners, for routes; null: none has one, and `note` says how to get it.",
          }),
      })
      .openapi("InspectedRepository"),
  ),
});

/** The proxy of a runner that is connected; if none has one, what one of them says about it. */
async function proxyOf({ runners, now }: Pick<Store, "runners" | "now">) {
  const { items } = await runners.list({ page: 1, pageSize: 200 });
  const connected = items.filter((runner) => !runner.disabled && isSeen(runner, now()));
  const name = connected.find(({ proxy }) => proxy !== null)?.proxy ?? null;
  const note = connected.find(({ proxyNote }) => proxyNote !== "")?.proxyNote ?? "";
  return { name, ...reasonJson({ note: name === null ? note : "" }) };
}

export function repositoriesApi({ store, setUp: { inspections, tokens, calls } }: ApiDeps) {
  return newApi().openapi(inspectRepository, async (c) => {
    await mayAddProjects(c);
    const { url, credential, hostTokenId } = c.req.valid("json");
    const given =
      hostTokenId === undefined
        ? (credential ?? null)
        : await tokens.gitCredential(tokenOwnerOf(c), hostTokenId, url);
    const found = await calls(callerOf(c).userId, () => inspections.inspect(url, given));
    return c.json({ ...found, ...reasonJson({ problem: found.problem }), proxy: await proxyOf(store) }, 200);
  });
}

/** The server connects to an address that the caller chose, so the caller must be able to add a project with it. */
async function mayAddProjects(c: ApiContext): Promise<void> {
  const caller = callerOf(c);
  if (actsAsAdmin(caller) || (await c.var.permissions.managesGroup(caller))) return;
  throw new Fault("forbidden", newReason("managers_only"));
}
