export interface GitResult {
  exitCode: number;
  /** Only its end, if it is very long. */
  output: string;
}
