import { type NotifyTarget, notifyTarget } from "../../model/settings/notify-target.ts";
import { ruleText } from "../../reason/rule-text.ts";
import { httpUrl } from "../../reason/schema-forms.ts";
import { isChannelAddress } from "../../task/notify/release-message.ts";
import { text } from "./scalars.ts";
import { strict, z } from "./shape.ts";

const { hasSecret: secretSet, ...shown } = notifyTarget.shape;

/** A target that is sent back with its `id`, or with the shortened address of a read, keeps its stored address. */
export const notifyTargetBody = strict({
  id: text(40, 1).openapi({
    description: "Of an existing target: what is not sent stays as it is. Absent: a new target.",
  }),
  // Which of both a format needs is checked with the format.
  url: text(2000)
    .refine((value) => isChannelAddress(value) || httpUrl.safeParse(value).success, ruleText("url_not_http"))
    .openapi({
      example: "https://hooks.slack.com/services/T000/B000/XXXX",
      description:
        "Required for a new target. `channel:<name>` for the format `push`. Stored encrypted; reads show the host and the last four characters.",
    }),
  format: shown.format,
  events: shown.events,
  logLines: shown.logLines,
  secret: text(500).nullable().openapi({
    description: "Signing secret of a `dingtalk` or `feishu` robot. Never returned; null deletes it.",
  }),
}).partial();

export const notifyTargetShape = z.object({ ...shown, secretSet }).openapi("NotifyTarget");

export function notifyTargetJson({ hasSecret, ...target }: NotifyTarget) {
  return { ...target, secretSet: hasSecret };
}
