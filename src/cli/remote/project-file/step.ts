import type { Method } from "../remote.ts";
import type { Fields } from "./settings.ts";

/** One call of the API. */
export interface Step {
  /** Of what, for people. */
  what: string;
  method: Method;
  /** Below the path of the project, or of this environment of it. */
  path: string;
  environment?: string;
  body?: unknown;
  /** The revision that was compared with: a change by somebody else in between is refused. */
  revision?: string;
  /** Where the file has the fields of the body. */
  field: readonly string[];
}

/** What an apply changes of one resource. */
export interface Part {
  before: Fields;
  after: Fields;
  steps: Step[];
}
