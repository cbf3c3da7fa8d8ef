import { isConsoleChannel } from "../../model/console/console-names.ts";
import type { Project } from "../../model/project.ts";
import { firstRouteUrl } from "../../model/service/route-place.ts";
import type { NotifyFormat, TaskEvent } from "../../model/settings/notify-target.ts";
import { isSideEffect } from "../../model/stage/stage-name.ts";
import type { Task } from "../../model/task.ts";
import { newReason, type Reason } from "../../reason/reason.ts";
import type { GuardedRequest, OutgoingAnswer } from "./guarded-request.ts";

/*
 * Targets of the format `push` publish to a channel of the own push gateway that a release serves, so that open pages of the
 * application learn of it.
 */

const scheme = "channel:";
const maxChannelBytes = 255;

export function isChannelAddress(url: string): boolean {
  return url.startsWith(scheme);
}

/** Why an address does not fit the format; null: it fits. Channels of the console are not for applications. */
export function channelAddressFault(format: NotifyFormat, url: string): Reason | null {
  if (format !== "push") return isChannelAddress(url) ? newReason("channel_other_format") : null;
  const channel = url.slice(scheme.length);
  const isName = channel !== "" && Buffer.byteLength(channel) <= maxChannelBytes && !/\p{Cc}/u.test(channel);
  return isChannelAddress(url) && isName && !isConsoleChannel(channel) ? null : newReason("push_address");
}

/** What is published of an event of a task; null: nothing, because no release began to serve. */
export function releaseMessage(event: TaskEvent | "approval.requested", task: Task, project: Project) {
  const hasDeployed = task.stages.some(({ name, state }) => state === "success" && isSideEffect(name));
  if (event !== "task.succeeded" || task.serviceAction !== null || !hasDeployed) return null;
  const url = project.publicUrl || firstRouteUrl(project.pipeline);
  return { type: "release", project: project.name, commit: task.commit, taskId: task.id, url };
}

type Publish = (
  to: { targetType: "channel"; target: string },
  data: string,
  traceparent: string | null,
) => Promise<void>;

/** `publish` is null if there is no gateway. */
export async function publishToChannel(
  publish: Publish | null,
  { url, body }: Pick<GuardedRequest, "url" | "body">,
): Promise<OutgoingAnswer> {
  if (publish === null) return { status: 503, body: "this server has no push gateway" };
  await publish({ targetType: "channel", target: url.slice(scheme.length) }, body, null);
  return { status: 200, body: "" };
}
