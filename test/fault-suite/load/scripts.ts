function recorder(recordFile: string): string {
  const fields = `$1 $CI_PROJECT_ID $CI_TASK_ID $CI_ATTEMPT $CI_STAGE $CI_COMMIT \${CI_ROLLBACK:-false}`;
  return `record() { printf '%s\\n' "${fields}" >> '${recordFile}'; }`;
}

/** Scripts that append a line to the shared record for the start, each beat and the end of a stage. */
export function stageScript(recordFile: string, beats: number): string {
  return [
    recorder(recordFile),
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
  /** `attempt` null: of any attempt. */
  read(text: string, stage: string, attempt: number | null): { number: number; total: number } | null {
    const found = /line (\d+) of (\d+) of (\w+) in attempt (\d+)$/.exec(text);
    if (!found || found[3] !== stage || (attempt !== null && Number(found[4]) !== attempt)) return null;
    return { number: Number(found[1]), total: Number(found[2]) };
  },
};

/**
 * The command of the service of a release. It takes a lock for as long as it lives, and records when another copy has it. A
 * broken commit fails in the shell, or in its program.
 */
export function serviceCommand(recordFile: string, lockFile: string, program: string[]): string {
  const command = program.map((word) => `'${word}'`).join(" ");
  return [
    recorder(recordFile),
    `exec 9>>'${lockFile}'"-$PORT"`,
    "flock -n 9 || { record second-copy; exit 9; }",
    "read -r kind number <version.txt || true",
    'if [ "$kind" = broken ] && [ $((number % 2)) = 0 ]; then exit 3; fi',
    `exec ${command} "$kind"`,
    "",
  ].join("\n");
}

/** Points the proxy to the new service: a file that names its port. */
export function switchScript(recordFile: string, upstreamFile: string): string {
  return [
    recorder(recordFile),
    "record switching",
    "sleep 0.4",
    `printf %s "$PORT" >'${upstreamFile}.new'`,
    `mv '${upstreamFile}.new' '${upstreamFile}'`,
    "sleep 0.3",
    "record switched",
    "",
  ].join("\n");
}
