import { useEffect, useMemo } from "react";
import { taskChannel } from "../src/model/console/console-names.ts";
import { answerOf, api } from "./api.ts";
import { live, useLiveStatus } from "./live.ts";
import { type LogLine, LogLines } from "./log-lines.ts";
import { oneAtATime } from "./one-at-a-time.ts";

const pollMs = 1500;

/**
 * The log of a task: what is stored, then what arrives live. Lines of the live channel that do not continue what is here
 * are fetched by index instead, so that neither a reconnect nor a dropped message leaves a gap.
 */
export function useTaskLog(projectId: number, taskId: number, isFinished: boolean): LogLines {
  const log = useMemo(() => new LogLines(), []);
  const isLive = useLiveStatus().state === "open";
  useEffect(() => {
    let isGone = false;
    const fetchAll = async () => {
      while (!isGone && !log.isComplete) {
        const from = log.next;
        const answer = await answerOf(api.tasks[":id"].log.$get({ param: { id: taskId }, query: { from } }));
        log.add(answer.lines);
        if (answer.done) log.complete();
        if (log.next === from) return;
      }
    };
    // What could not be fetched is asked for again by the next message or poll.
    const catchUp = oneAtATime(fetchAll);
    catchUp();
    const stopListening = live.listen(taskChannel(projectId, taskId), (data) => {
      const lines = linesOf(data);
      if (lines === null) live.refresh("task", "activity");
      else if (!log.add(lines)) catchUp();
    });
    // While live, lines come by themselves; the end of a finished log is known only by asking.
    const timer = isLive && !isFinished ? undefined : setInterval(catchUp, pollMs);
    return () => {
      isGone = true;
      clearInterval(timer);
      stopListening();
    };
  }, [log, projectId, taskId, isLive, isFinished]);
  return log;
}

function linesOf(data: unknown): LogLine[] | null {
  if (typeof data !== "object" || data === null || !("type" in data) || data.type !== "log") return null;
  return "lines" in data && Array.isArray(data.lines) ? (data.lines as LogLine[]) : null;
}
