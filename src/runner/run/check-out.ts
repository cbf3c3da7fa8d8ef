import { openGitEnvironment } from "../../git/git-environment.ts";
import { connectionFault, isTooSlow, silenceReason } from "../../git/host-connection.ts";
import { watchSilence } from "../../git/silence-watch.ts";
import { toShortRef } from "../../model/git/git-ref.ts";
import { newReason, type Reason } from "../../reason/reason.ts";
import { type CheckedOut, CheckoutError, checkout, SilentHost } from "../checkout/checkout.ts";
import { keepEnd } from "../log/kept-end.ts";
import type { LogStream } from "../log/log-stream.ts";
import type { TaskGuard } from "../process/lifeline.ts";
import { runProcess } from "../process/process.ts";
import { survivorsText } from "../process/process-tree.ts";
import type { RunTask } from "../protocol.ts";
import type { HeldTask } from "../server/held-task.ts";
import { type StageEnd, stoppedEnd } from "../stage/stage-script.ts";
import type { Workspace, Workspaces } from "../workspace/workspace.ts";

interface CheckOutParts {
  held: HeldTask;
  stream: LogStream;
  workspace: Workspace;
  workspaces: Workspaces;
  guard: TaskGuard;
  /** The runner's own environment. */
  env: Record<string, string | undefined>;
}

/** Enough for all output of git itself; a host may send more. */
const gitOutputMaxBytes = 256 * 1024;

/** The folder with the checked-out commit, or the failure. */
export async function checkOut(instruction: RunTask, parts: CheckOutParts): Promise<CheckedOut | StageEnd> {
  const { held, stream, workspace, workspaces, guard } = parts;
  const { limits, repo } = instruction;
  const environment = openGitEnvironment(repo, workspaces, parts.env);
  const endsAt = performance.now() + limits.checkoutTimeoutMs;
  let state: "failed" | "timeout" = "failed";
  try {
    const fault = await connectionFault(repo.url, parts.env, held.stopped);
    if (fault) throw new SilentHost(notFetched(instruction, fault));
    return await checkout({
      repo,
      ref: instruction.ref,
      commit: instruction.commit,
      cache: workspaces.cacheOf(instruction.projectId),
      target: workspace.source,
      file: instruction.pipelineFile,
      writeLine: (text) => stream.writeLine("checkout", text),
      async git(args, isAnonymous = false) {
        const output = keepEnd(gitOutputMaxBytes);
        const silent = new AbortController();
        let endWatch = () => {};
        const result = await runProcess({
          command: ["git", ...args],
          cwd: workspace.scripts,
          env: isAnonymous ? environment.anonymous : environment.env,
          onOutput: output.push,
          stop: AbortSignal.any([held.stopped, silent.signal]),
          timeoutMs: Math.max(1, endsAt - performance.now()),
          killAt: held.killAt,
          watch(tree) {
            guard.watch(tree);
            endWatch = watchSilence(tree.leader, () => silent.abort());
          },
        }).finally(() => endWatch());
        guard.release(result.tree);
        if (result.survivors.length > 0) stream.writeLine("checkout", survivorsText("git", result.survivors));
        if (result.end === "timeout") {
          state = "timeout";
          throw new CheckoutError(newReason("git_timeout", { seconds: limits.checkoutTimeoutMs / 1000 }));
        }
        if (silent.signal.aborted || (result.exitCode !== 0 && isTooSlow(output.text())))
          throw new SilentHost(notFetched(instruction, silenceReason()), output.text());
        return { exitCode: result.exitCode ?? 1, output: output.text() };
      },
    });
  } catch (error) {
    if (held.stopped.aborted) return stoppedEnd("checkout", held);
    if (!(error instanceof CheckoutError)) throw error;
    for (const line of error.details) stream.writeLine("checkout", line);
    return { state, exitCode: null, reason: error.reason };
  } finally {
    environment.remove();
  }
}

function notFetched({ ref }: RunTask, why: Reason): Reason {
  return newReason("fetch_failed", { ref: toShortRef(ref), why });
}
