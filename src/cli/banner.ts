import type { App } from "../app.ts";
import { version } from "../version.ts";

/** The few lines a person reads after `npm start`. They go to stderr, so that logs on stdout stay one JSON a line. */
export function banner(app: App): string {
  const facts = app.facts.map((fact) => `  ${fact}`);
  const warnings = app.warnings.map((warning) => `  ! ${warning}`);
  return ["", `Slipway ${version} is ready at ${app.url}`, ...facts, ...warnings, "", ""].join("\n");
}
