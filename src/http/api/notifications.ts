import type { OutgoingAttempt } from "../../model/outgoing-attempt.ts";
import type { Project } from "../../model/project.ts";
import { reservedSecrets } from "../../model/sealed.ts";
import { commitStatusSettings } from "../../model/settings/commit-status.ts";
import { newReason } from "../../reason/reason.ts";
import { reasonJson } from "../../reason/reason-json.ts";
import { hasStatusApi } from "../../task/notify/commit-status.ts";
import { type ApiContext, auditProject, callerOf, projectOf } from "./context.ts";
import type { ApiDeps } from "./deps.ts";
import { reasonPartsShape, warningPartsShape, withWarnings } from "./reason-shape.ts";
import { found, newApi, routesOf } from "./route.ts";
import { text, time } from "./scalars.ts";
import { json, z } from "./shape.ts";
import { statusWarnings } from "./status-warnings.ts";

const route = routesOf("notifications");

const attemptShape = z
  .object({
    id: z.number().int(),
    at: time,
    kind: z.enum(["notification", "commit status"]),
    event: z
      .string()
      .openapi({ description: "Name of the event, or state of the commit.", example: "task.failed" }),
    targetId: z.string().nullable().openapi({ description: "Null for a commit status." }),
    host: z.string(),
    attempt: z.number().int().openapi({ description: "From 1." }),
    delivered: z.boolean(),
    status: z.number().int().nullable().openapi({ description: "HTTP status; null: there was no answer." }),
    fault: z.string().openapi({ description: "Why it was not delivered." }),
    faultParts: reasonPartsShape,
    response: z.string().openapi({ description: "The first 200 characters of the answer." }),
  })
  .openapi("OutgoingAttempt");

export const testResultShape = attemptShape
  .pick({ delivered: true, status: true, fault: true, faultParts: true, response: true })
  .openapi("TestMessageResult");

const listAttempts = route("get", "/projects/{id}/notification-attempts", {
  summary: "The last attempts to notify",
  description: "The last 50 attempts of the project to send a notification or a commit status, newest first.",
  access: { project: "manage" },
  ok: json("The attempts.", z.object({ items: z.array(attemptShape) }).openapi("OutgoingAttemptList")),
});

const testTarget = route("post", "/projects/{id}/notify/{targetId}/test", {
  summary: "Send a test message to a notification target",
  description: "Once and at once, as it is stored; the answer says what the receiver answered.",
  access: { project: "manage" },
  params: { targetId: text(40, 1).openapi({ param: { name: "targetId", in: "path" }, example: "Xk3v90ab" }) },
  ok: json("What came of it.", testResultShape),
});

const getCommitStatus = route("get", "/projects/{id}/commit-status", {
  summary: "How commit statuses of a project are reported",
  access: { project: "view" },
  ok: json(
    "The settings, and whether statuses are sent.",
    commitStatusSettings
      .extend({
        tokenSet: z.boolean(),
        supported: z
          .boolean()
          .openapi({ description: "Whether the Git host has an API that is known here." }),
        warnings: z.array(z.string()),
        warningParts: warningPartsShape,
      })
      .openapi("CommitStatus"),
  ),
});

export function notificationsApi({ store, testMessages }: ApiDeps) {
  async function commitStatusOf(c: ApiContext, project: Project) {
    const names = await store.projects.secretNames([project.id]);
    const provider = (await store.webhookConfigs.ofProject(project.id))?.provider ?? "generic";
    return {
      ...project.commitStatus,
      tokenSet: names.some(({ name }) => name === reservedSecrets.status),
      supported: hasStatusApi(project, provider),
      ...withWarnings(await statusWarnings(c, store.projects, project)),
    };
  }

  return newApi()
    .openapi(listAttempts, async (c) => {
      const attempts = await store.outgoingAttempts.ofProject(projectOf(c).id);
      return c.json({ items: attempts.map(attemptJson) }, 200);
    })
    .openapi(testTarget, async (c) => {
      const project = projectOf(c);
      const { targetId } = c.req.valid("param");
      const target = found(
        project.notify.find(({ id }) => id === targetId) ?? null,
        newReason("no_target", { id: targetId, project: project.name }),
      );
      const { isDelivered, status, fault, response } = await testMessages(
        project,
        target,
        callerOf(c).username,
      );
      await auditProject(c, "project.test-notification", project, { target: target.url });
      return c.json({ delivered: isDelivered, status, ...reasonJson({ fault }), response }, 200);
    })
    .openapi(getCommitStatus, async (c) => c.json(await commitStatusOf(c, projectOf(c)), 200));
}

function attemptJson({ projectId: _projectId, isDelivered, fault, at, ...rest }: OutgoingAttempt) {
  return { ...rest, ...reasonJson({ fault }), at: at.toISOString(), delivered: isDelivered };
}
