import type { GatewayKeys } from "../config/gateway-keys.ts";
import { version } from "../version.ts";

/** A running server, in one process or several. */
export interface Running {
  url: string;
  facts: string[];
  warnings: string[];
  /** What is missing until it is ready, as /readyz says; null: nothing. */
  missing(): Promise<string | null>;
  /** Null: this role has no gateway. */
  replaceKeys: ((keys: GatewayKeys) => Promise<void>) | null;
  stop(signal?: NodeJS.Signals): Promise<void>;
}

export function readyLine({ url }: Running): string {
  return `Slipway ${version} is ready at ${url}`;
}

/** The text after a start. It goes to stderr, so that stdout contains only log lines. */
export function banner(app: Running, missing: string | null): string {
  const first =
    missing === null
      ? readyLine(app)
      : `Slipway ${version} listens at ${app.url} and is not ready: ${missing.replaceAll("\n", "; ")} (/readyz answers 503)`;
  const facts = app.facts.map((fact) => `  ${fact}`);
  const warnings = app.warnings.map((warning) => `  ! ${warning}`);
  return ["", first, ...facts, ...warnings, "", ""].join("\n");
}
