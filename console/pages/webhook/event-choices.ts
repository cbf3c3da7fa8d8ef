import type { EventName } from "../../../src/model/webhook-config.ts";
import { t } from "../../text/text.ts";

/** The events of the specification, with their labels. */
export function eventChoices(): { value: EventName; label: string }[] {
  return [
    { value: "push", label: t("webhook.eventPush") },
    { value: "tag", label: t("webhook.eventTag") },
    { value: "merge_request", label: t("webhook.eventMergeRequest") },
  ];
}
