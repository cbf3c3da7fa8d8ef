import { version } from "../version.ts";

/** A running server, in one process or several. */
export interface Running {
  url: string;
  facts: string[];
  warnings: string[];
  stop(): Promise<void>;
}

/** The text after a start. It goes to stderr, so that stdout contains only log lines. */
export function banner(app: Running): string {
  const facts = app.facts.map((fact) => `  ${fact}`);
  const warnings = app.warnings.map((warning) => `  ! ${warning}`);
  return ["", `Slipway ${version} is ready at ${app.url}`, ...facts, ...warnings, "", ""].join("\n");
}
