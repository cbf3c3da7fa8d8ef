import { type FileFault, fileFaultText } from "../../model/pipeline-file/file-fault.ts";
import { readPipelineFile } from "../../model/pipeline-file/read-file.ts";
import { newReason, type Reason, renderReason } from "../../reason/reason.ts";
import { reasonOf } from "../../reason/said-reason.ts";
import type { FoundFile } from "../checkout/read-file-at.ts";
import type { LogStream } from "../log/log-stream.ts";
import type { RunTask } from "../protocol.ts";
import type { HeldTask } from "../server/held-task.ts";
import { failed, type StageEnd, stoppedEnd } from "../stage/stage-script.ts";

interface FileParts {
  held: HeldTask;
  stream: LogStream;
}

/** The instruction with what the file of the repository says, which the server has accepted; or why nothing is run. */
export async function withPipelineFile(
  instruction: RunTask,
  { path, branch }: NonNullable<RunTask["pipelineFile"]>,
  file: FoundFile,
  { held, stream }: FileParts,
): Promise<RunTask | StageEnd> {
  if ("fault" in file) return failed(file.fault);
  const read = readPipelineFile(file.text);
  if (Array.isArray(read)) return refused(path, read, stream);
  const answer = await held.pipeline({ pipeline: read.pipeline });
  if (answer?.continue !== true || held.stopped.aborted) return stoppedEnd("checkout", held);
  const { faults = [], run } = answer;
  if (run === undefined)
    return refused(
      path,
      faults.map((fault) => read.faultAt(fault.path, reasonOf(fault))),
      stream,
    );
  stream.writeLine("checkout", `pipeline of ${path}${branch === null ? "" : ` of ${branch}`}`);
  return { ...instruction, ...run };
}

function refused(path: string, faults: FileFault[], stream: LogStream): StageEnd {
  const reasons = faults.map((fault) => fileFaultText(path, fault));
  for (const reason of reasons) stream.writeLine("checkout", renderReason(reason));
  return failed(summary(path, reasons));
}

/** A commit status shows little more than the first one. */
function summary(path: string, [first, ...others]: Reason[]): Reason {
  if (first === undefined) return newReason("file_refused", { path });
  return others.length === 0 ? first : newReason("file_faults", { first, count: others.length });
}
