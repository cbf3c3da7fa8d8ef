import type { Project } from "../../model/project.ts";
import type { WebhookConfig } from "../../model/webhook-config.ts";
import { reasonJson } from "../../reason/reason-json.ts";
import { ruleText } from "../../reason/rule-text.ts";
import { refuseIfChanged } from "../../revision.ts";
import { secretFormats } from "../../webhook/management.ts";
import { changedConfig } from "../../webhook/save-webhook.ts";
import { whatIf } from "../../webhook/what-if.ts";
import { auditEntry, auditProject, callerOf, projectChange, projectOf } from "./context.ts";
import {
  answerShape,
  eventShown,
  judgementShape,
  normalizedShape,
  summaryJson,
  summaryShape,
  traceShape,
  triggered,
  triggerFaults,
} from "./delivery-shape.ts";
import type { ApiDeps } from "./deps.ts";
import { traceJson } from "./reason-shape.ts";
import { tagged, withTag } from "./revision.ts";
import { newApi, routesOf } from "./route.ts";
import { text } from "./scalars.ts";
import { json, onlyGiven, strict, z } from "./shape.ts";
import { changeOf, webhookBody, webhookJson, webhookRevision, webhookShape } from "./webhook-shape.ts";

const route = routesOf("webhook");

const readWebhook = route("get", "/projects/{id}/webhook", {
  summary: "Webhook of a project",
  description: "Configuration and endpoint address. The secret is never returned, only whether it is set.",
  access: { project: "view" },
  ok: tagged("The configuration.", webhookShape),
});

const saveWebhook = route("put", "/projects/{id}/webhook", {
  summary: "Save the webhook",
  description:
    "Fields that are not sent stay; a text or list that is null goes back to its default. `secret` empty or null keeps the stored one; `clearSecret` removes it. For a change of " +
    "secret without downtime send the new `secret` with `secondSecretUntil`: the one so far is accepted until then.",
  access: { project: "manage" },
  body: webhookBody,
  ok: tagged("The configuration as it is now.", webhookShape),
});

const generateSecret = route("post", "/projects/{id}/webhook/generate-secret", {
  summary: "Make a secret",
  description:
    "32 random bytes in base64url, or with `format=whsec` as GitLab's signing token and Standard Webhooks write them. It is not " +
    "saved: paste it into the host, then save it here.",
  access: { project: "manage" },
  query: { format: z.enum(secretFormats).default("base64url") },
  ok: json("The secret.", z.object({ secret: z.string() })),
});

const resetKey = route("post", "/projects/{id}/webhook/reset-key", {
  summary: "Reset the address",
  description:
    "Makes a new key. The old address is invalid at once. 409 before the webhook was first enabled.",
  access: { project: "manage" },
  faults: { 409: "There is no key yet." },
  ok: json(
    "The new address.",
    z.object({ key: z.string(), url: z.string(), baseUrlConfigured: z.boolean() }),
  ),
});

const testWebhook = route("post", "/projects/{id}/webhook/test", {
  summary: "Send a test delivery",
  description:
    "As fields, or as a host's `payload` with its `headers`. By default a dry run: the decision with its trace, no record, no " +
    "task. Of a dry run `config` holds changes of the configuration that are not saved, as for what-if. With `dryRun: false` a real task " +
    "is created, past signature, filters and debounce; 409 while the webhook is not enabled.",
  access: { project: "manage" },
  faults: triggerFaults,
  body: strict({
    dryRun: z.boolean().default(true),
    event: text(100).optional(),
    ref: text(300).optional(),
    refType: z.enum(["branch", "tag"]).optional(),
    commit: text(64).optional(),
    message: text(10_000).optional(),
    author: text(200).optional(),
    paths: z.array(text(1024)).max(10_000).optional(),
    payload: z.record(z.string(), z.unknown()).optional(),
    headers: z.record(headerName(), headerValue()).optional(),
    config: webhookBody.optional(),
  }).refine(({ dryRun, config }) => dryRun || config === undefined, {
    path: ["config"],
    message: ruleText("only_dry_run"),
  }),
  ok: json(
    "The decision of a dry run, or the response of a delivery that created no task.",
    z.union([
      z.object({
        dryRun: z.literal(true),
        decision: judgementShape.extend({ httpStatus: z.number().int() }),
        normalized: normalizedShape,
        trace: traceShape,
      }),
      answerShape,
    ]),
  ),
  accepted: json("A task was created.", answerShape),
});

const askWhatIf = route("post", "/projects/{id}/webhook/what-if", {
  summary: "Try a configuration on past deliveries",
  description:
    "Judges the last deliveries again under a configuration that is not saved, and says what would change. Only the filters are " +
    "asked; debounce and queue depended on the moment.",
  access: { project: "view" },
  scope: "read",
  body: strict({ config: webhookBody.default({}), last: z.number().int().min(1).max(200).default(50) }),
  ok: json(
    "The deliveries, newest first.",
    z.object({
      changed: z.number().int(),
      items: z.array(
        z.object({
          delivery: summaryShape,
          saved: judgementShape,
          proposed: judgementShape,
          changes: z.boolean(),
        }),
      ),
    }),
  ),
});

function headerName() {
  return text(100, 1).regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, ruleText("header_name"));
}

/** What HTTP allows in the value of a header. */
function headerValue() {
  return text(1024).regex(/^[\t\x20-\x7e\x80-\xff]*$/, ruleText("header_value"));
}

export function webhookApi({ store, webhook, secrets, clock }: ApiDeps) {
  const { management, tests } = webhook;
  const jsonOf = async (config: WebhookConfig, project: Project) =>
    webhookJson(
      config,
      project,
      management,
      config.enabled && project.git.url !== "" ? await webhook.pollStateOf(project.id) : null,
    );
  const proposedConfig = (saved: WebhookConfig, change: z.output<typeof webhookBody>) =>
    changedConfig(saved, changeOf(change), secrets, new Date(clock.now()));
  return newApi()
    .openapi(readWebhook, async (c) => {
      const project = projectOf(c);
      return c.json(withTag(c, await jsonOf(await management.read(project.id), project)), 200);
    })
    .openapi(saveWebhook, async (c) => {
      const project = projectOf(c);
      const config = await management.save(
        project.id,
        changeOf(c.req.valid("json")),
        (changes) => auditEntry(c, projectChange("webhook.save", project, { ...changes })),
        (before) => refuseIfChanged(c.req.valid("header")["if-match"], webhookRevision(before), "webhook"),
      );
      return c.json(withTag(c, await jsonOf(config, project)), 200);
    })
    .openapi(generateSecret, (c) =>
      c.json({ secret: management.generateSecret(c.req.valid("query").format) }, 200),
    )
    .openapi(resetKey, async (c) => {
      const project = projectOf(c);
      const config = await management.resetKey(
        project.id,
        auditEntry(c, projectChange("webhook.reset-key", project)),
      );
      const { url, baseUrlConfigured } = management.endpointOf(config);
      return c.json({ key: config.key ?? "", url: url ?? "", baseUrlConfigured }, 200);
    })
    .openapi(testWebhook, async (c) => {
      const project = projectOf(c);
      const { dryRun, config: change = {}, ...input } = c.req.valid("json");
      const saved = await management.read(project.id);
      const author = callerOf(c).username;
      if (dryRun) {
        const config = proposedConfig(saved, change);
        const tested = await tests.dryRun(project, config, onlyGiven(input), author);
        return c.json(
          {
            ...tested,
            decision: { ...tested.decision, ...reasonJson({ reason: tested.decision.reason }) },
            normalized: eventShown(tested.normalized),
            trace: traceJson(tested.trace),
          },
          200,
        );
      }
      const answer = await tests.run(project, saved, onlyGiven(input), author, new Date(clock.now()));
      await auditProject(c, "webhook.test", project, { deliveryId: answer.body.deliveryId });
      return c.json(...triggered(answer));
    })
    .openapi(askWhatIf, async (c) => {
      const { config, last } = c.req.valid("json");
      const saved = await management.read(projectOf(c).id);
      const proposed = proposedConfig(saved, config);
      const items = await whatIf(projectOf(c), store.deliveries, saved, proposed, last);
      return c.json(
        {
          changed: items.filter(({ changes }) => changes).length,
          items: items.map((item) => ({
            ...item,
            delivery: summaryJson(item.delivery),
            saved: { ...item.saved, ...reasonJson({ reason: item.saved.reason }) },
            proposed: { ...item.proposed, ...reasonJson({ reason: item.proposed.reason }) },
          })),
        },
        200,
      );
    });
}
