import {
  type CommitStatusSettings,
  type NotifyTarget,
  notifyEvents,
  notifyFormats,
} from "../../model/project.ts";
import { ruleText } from "../../reason/rule-text.ts";
import { httpUrl } from "../../reason/schema-forms.ts";
import { isChannelAddress } from "../../task/notify/release-message.ts";
import { text } from "./scalars.ts";
import { strict, z } from "./shape.ts";

const format = z.enum(notifyFormats).openapi({
  description:
    "Shape and signature of the messages; `slipway` is a signed webhook (Standard Webhooks), `push` publishes releases to a channel of the own gateway.",
});

const events = z.array(z.enum(notifyEvents)).max(notifyEvents.length).openapi({
  description:
    "Empty: all task events. `approval.requested`, `delivery.rejected`, `delivery.failed`, `runner.gone`, `service.down` and `service.up` are sent only to targets that name them.",
});

const logLines = z
  .number()
  .int()
  .min(0)
  .max(50)
  .openapi({ description: "How many of the last log lines a message about a finished task has." });

/** Which of both a format needs is checked with the format. */
const targetUrl = text(2000).refine(
  (value) => isChannelAddress(value) || httpUrl.safeParse(value).success,
  ruleText("url_not_http"),
);

/** A target that is sent back with its `id`, or with the shortened address of a read, keeps its stored address. */
export const notifyTargetBody = strict({
  id: text(40, 1).optional().openapi({
    description: "Of an existing target: what is not sent stays as it is. Absent: a new target.",
  }),
  url: targetUrl.optional().openapi({
    example: "https://hooks.slack.com/services/T000/B000/XXXX",
    description:
      "Required for a new target. `channel:<name>` for the format `push`. Stored encrypted; reads show the host and the last four characters.",
  }),
  format: format.optional(),
  events: events.optional(),
  logLines: logLines.optional(),
  secret: text(500).nullable().optional().openapi({
    description: "Signing secret of a `dingtalk` or `feishu` robot. Never returned; null deletes it.",
  }),
});

export const notifyTargetShape = z
  .object({
    id: z.string(),
    format,
    url: z.string().openapi({
      description: "The host and the last four characters.",
      example: "https://hooks.slack.com/…XXXX",
    }),
    events,
    logLines,
    secretSet: z.boolean(),
  })
  .openapi("NotifyTarget");

export function notifyTargetJson({ id, format, url, events, logLines, hasSecret }: NotifyTarget) {
  return { id, format, url, events, logLines, secretSet: hasSecret };
}

const context = text(200, 1)
  .refine((value) => value.trim() === value && !/\p{Cc}/u.test(value), ruleText("not_one_line_ends"))
  .openapi({
    description:
      "Name of the status at the Git host. Statuses of one commit with the same context replace each other, so two projects of one repository need two.",
    example: "slipway/shop",
  });

const skipped = z.boolean().openapi({
  description:
    "Whether a push that a filter excluded gets a status `Skipped: …`. It is sent only where the commit has no status of this context.",
});

export const commitStatusBody = strict({ context: context.optional(), skipped: skipped.optional() });
export const commitStatusShape = z.object({ context: z.string(), skipped }).openapi("CommitStatusSettings");

export function newCommitStatus(
  projectName: string,
  body: z.infer<typeof commitStatusBody> = {},
): CommitStatusSettings {
  return { context: body.context ?? `slipway/${projectName}`, skipped: body.skipped ?? false };
}
