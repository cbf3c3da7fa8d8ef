/** The reasons to refuse a handshake: HTTP status, code of the failure envelope, close code of reject-mode `close`. */
export const refusals = {
  draining: refused(503, 50303, 4100, "The server is restarting; connect again in a moment.", 2),
  queue_not_reached: refused(
    503,
    50305,
    4100,
    "The server has not reached its message queue yet; try again later.",
    2,
  ),
  not_upgrade: refused(426, 42601, 0, "This is a WebSocket address; ask for an upgrade."),
  origin: refused(403, 40301, 4002, "This origin is not among push.allowed-origins."),
  connect_rate: refused(429, 42901, 4100, "Too many connection attempts from this address.", 1),
  code_missing: refused(400, 40006, 4000, "The parameter code is missing or longer than 4096 bytes."),
  full: refused(503, 50302, 4100, "The server is full (push.max-connections); try again later.", 5),
  rejected: refused(401, 40102, 4001, "The code was not accepted; get a new one."),
  verify_unavailable: refused(503, 50304, 4100, "The code could not be verified now; try again later.", 2),
  user_limit: refused(429, 42902, 4100, "This user has too many connections already.", 5),
} as const satisfies Record<string, RefusedAdmission>;

export type RefusalReason = keyof typeof refusals;

export interface RefusedAdmission {
  status: number;
  code: number;
  closeCode: number;
  message: string;
  retryAfterSeconds: number | null;
}

function refused(
  status: number,
  code: number,
  closeCode: number,
  message: string,
  retryAfterSeconds: number | null = null,
): RefusedAdmission {
  return { status, code, closeCode, message, retryAfterSeconds };
}
