import { type Reason, renderReason } from "./reason/reason.ts";

/** An error whose message is for people, in their language: `message` is its English text. */
export class ReasonError extends Error {
  readonly reason: Reason;

  constructor(reason: Reason, options?: ErrorOptions) {
    super(renderReason(reason), options);
    this.reason = reason;
  }
}

/**
 * A fault is an error whose message is shown to the caller and says how to solve the problem. An expected outcome
 * (ignored, merged, refused) is a value, never a fault. Any other thrown error is a bug, answered as "internal" without
 * its text.
 */
export type FaultCode =
  | "malformed"
  | "invalid"
  | "unauthenticated"
  | "forbidden"
  | "not_found"
  | "too_late"
  | "conflict"
  | "changed_meanwhile"
  | "too_large"
  | "unsupported_type"
  | "too_many"
  | "unavailable"
  | "internal";

export const httpStatusOf = {
  malformed: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  too_late: 408,
  conflict: 409,
  changed_meanwhile: 412,
  too_large: 413,
  unsupported_type: 415,
  invalid: 422,
  too_many: 429,
  internal: 500,
  unavailable: 503,
} as const satisfies Record<FaultCode, number>;

export interface FieldFault {
  field: string;
  message: Reason;
}

export class Fault extends ReasonError {
  override readonly name = "Fault";
  readonly code: FaultCode;
  readonly fields: FieldFault[] | undefined;
  /** Seconds after which a retry can succeed; sent as the Retry-After header. */
  readonly retryAfterSeconds: number | undefined;
  /** For `unavailable`: the message names no part of this server and is shown. */
  readonly isShown: boolean;

  constructor(
    code: FaultCode,
    reason: Reason,
    options: {
      fields?: FieldFault[];
      retryAfterSeconds?: number;
      isShown?: boolean;
      cause?: unknown;
    } = {},
  ) {
    super(reason, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.fields = options.fields;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.isShown = options.isShown ?? code !== "unavailable";
  }
}

/** Text of anything thrown, for logs: a throw need not be an Error. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** What was thrown, as a reason or a value of one. */
export function thrownReason(thrown: unknown): Reason {
  return thrown instanceof ReasonError ? thrown.reason : messageOf(thrown);
}
