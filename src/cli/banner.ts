import type { App } from "../app.ts";
import { version } from "../version.ts";

/** The text after a start. It goes to stderr, so that stdout contains only log lines. */
export function banner(app: App): string {
  const facts = app.facts.map((fact) => `  ${fact}`);
  const warnings = app.warnings.map((warning) => `  ! ${warning}`);
  return ["", `Slipway ${version} is ready at ${app.url}`, ...facts, ...warnings, "", ""].join("\n");
}
