import type { Clock } from "../../clock.ts";
import { Fault } from "../../errors.ts";
import type { Project } from "../../model/project.ts";
import type { NotifyTarget } from "../../model/settings/notify-target.ts";
import { SlidingWindow, wholeSeconds } from "../../rate-limit.ts";
import { newReason } from "../../reason/reason.ts";
import { testNotice } from "./notice.ts";
import { notificationCall } from "./notifications.ts";
import type { OutboxOptions } from "./outbox.ts";
import { type AttemptOptions, type AttemptResult, attemptCall } from "./outgoing-attempt.ts";

/** Sends a test message to a target, once and at once. Project null: to the default target; there is no record of it. */
export type TestMessages = (
  project: Project | null,
  target: NotifyTarget,
  username: string,
) => Promise<AttemptResult>;

const testsPerMinute = 10;

export function buildTestMessages(parts: {
  attempt: AttemptOptions;
  record: OutboxOptions["record"];
  clock: Clock;
  consoleUrl: () => string;
}): TestMessages {
  const limit = new SlidingWindow<number>(testsPerMinute);
  return async (project, target, username) => {
    const waitMs = limit.take(project?.id ?? 0, parts.clock.elapsed());
    if (waitMs !== null)
      throw new Fault(
        "too_many",
        newReason("test_messages", { limit: testsPerMinute, seconds: wholeSeconds(waitMs) }),
      );
    const context = { now: new Date(parts.clock.now()), consoleUrl: parts.consoleUrl() };
    const call = notificationCall(
      testNotice(project, username),
      { id: project?.id ?? 0, parentId: null },
      target,
      context,
    );
    const result = await attemptCall(call, parts.attempt);
    if (project !== null) await parts.record(call, 1, result);
    return result;
  };
}
