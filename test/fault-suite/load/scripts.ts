/** Scripts that append a line to the shared record for the start, each beat and the end of a stage. */
export function stageScript(recordFile: string, beats: number): string {
  return [
    `record() { printf '%s\\n' "$1 $CI_PROJECT_ID $CI_TASK_ID $CI_ATTEMPT $CI_STAGE $CI_COMMIT" >> '${recordFile}'; }`,
    "record start",
    "i=0",
    `while [ $i -lt ${beats} ]; do`,
    "  i=$((i + 1))",
    `  echo "line $i of ${beats} of $CI_STAGE in attempt $CI_ATTEMPT"`,
    "  record beat",
    "  sleep 0.1",
    "done",
    "record end",
    "",
  ].join("\n");
}

/** The lines that a script prints to the log of its task. */
export const printedLines = {
  read(text: string, stage: string, attempt: number): { number: number; total: number } | null {
    const found = /line (\d+) of (\d+) of (\w+) in attempt (\d+)$/.exec(text);
    if (!found || found[3] !== stage || Number(found[4]) !== attempt) return null;
    return { number: Number(found[1]), total: Number(found[2]) };
  },
};
