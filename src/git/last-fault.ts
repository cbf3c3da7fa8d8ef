/** The last error in the output of git, without its prefix. */
export function lastFault(lines: readonly string[]): string | undefined {
  return lines.findLast((line) => /^(fatal|error): /.test(line))?.replace(/^\w+: /, "");
}
