/** The codes of failed calls of `/feign` and `/sse` and of refused connections. Their first three digits are the HTTP status. */
export const failureCodes = {
  notJsonObject: 40001,
  targetType: 40002,
  /** Also a user id, connection id, channel or list of them. */
  target: 40003,
  data: 40004,
  idempotencyKey: 40005,
  codeMissing: 40006,
  closeCode: 40007,
  batch: 40008,
  ack: 40009,
  scope: 40010,
  keyMissing: 40101,
  codeRejected: 40102,
  origin: 40301,
  keyNotAllowed: 40302,
  consoleName: 40303,
  noSuchOperation: 40401,
  noSuchStream: 40402,
  noTrace: 40403,
  method: 40501,
  bodyTooSlow: 40801,
  idempotencyKeyReused: 40901,
  clientMessagesOff: 40902,
  tooLarge: 41301,
  contentType: 41501,
  notUpgrade: 42601,
  connectRate: 42901,
  userLimit: 42902,
  listenerLimit: 42903,
  streamBusy: 42904,
  internal: 50001,
  unavailable: 50301,
  full: 50302,
  draining: 50303,
  verifyUnavailable: 50304,
  queueNotReached: 50305,
} as const;

export type FailureCode = (typeof failureCodes)[keyof typeof failureCodes];

export function statusOf(code: FailureCode): number {
  return Math.floor(code / 100);
}
