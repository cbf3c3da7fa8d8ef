import { type FailureCode, failureCodes, statusOf } from "../message/failure-codes.ts";

/** The reasons to refuse a handshake: HTTP status, code of the failure envelope, close code of reject-mode `close`. */
export const refusals = {
  draining: refused(failureCodes.draining, 4100, "The server is restarting; connect again in a moment.", 2),
  queue_not_reached: refused(
    failureCodes.queueNotReached,
    4100,
    "The server has not reached its message queue yet; try again later.",
    2,
  ),
  not_upgrade: refused(failureCodes.notUpgrade, 0, "This is a WebSocket address; ask for an upgrade."),
  origin: refused(failureCodes.origin, 4002, "This origin is not among push.allowed-origins."),
  connect_rate: refused(failureCodes.connectRate, 4100, "Too many connection attempts from this address.", 1),
  code_missing: refused(
    failureCodes.codeMissing,
    4000,
    "The parameter code is missing or longer than 4096 bytes.",
  ),
  full: refused(failureCodes.full, 4100, "The server is full (push.max-connections); try again later.", 5),
  rejected: refused(failureCodes.codeRejected, 4001, "The code was not accepted; get a new one."),
  verify_unavailable: refused(
    failureCodes.verifyUnavailable,
    4100,
    "The code could not be verified now; try again later.",
    2,
  ),
  user_limit: refused(failureCodes.userLimit, 4100, "This user has too many connections already.", 5),
} as const satisfies Record<string, RefusedAdmission>;

export type RefusalReason = keyof typeof refusals;

export interface RefusedAdmission {
  status: number;
  code: FailureCode;
  closeCode: number;
  message: string;
  retryAfterSeconds: number | null;
}

function refused(
  code: FailureCode,
  closeCode: number,
  message: string,
  retryAfterSeconds: number | null = null,
): RefusedAdmission {
  return { status: statusOf(code), code, closeCode, message, retryAfterSeconds };
}
