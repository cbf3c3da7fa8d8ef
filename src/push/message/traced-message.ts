import type { DeliveryState, TraceState } from "../../model/gateway/message-report.ts";

/** What became of a message at one connection. */
export interface TracedDelivery {
  message: TracedMessage;
  userId: string;
  connectionId: string;
  kind: "normal" | "temporary";
  /** Whether the client can acknowledge; raw clients cannot. */
  isV1: boolean;
  /** `waiting`: the connection resumes, and gets its messages as it reads. `closed`: it closed before the message was sent or acknowledged. */
  state: DeliveryState;
  /** Whether the client got it after a reconnect. */
  isResumed: boolean;
  /** With which code the connection closed soon afterwards; 0: it did not, or later. */
  closeCode: number;
  /** When it came into this state, by the steady clock. */
  atMs: number;
}

/** What one process knows about a message. */
export interface TracedMessage {
  id: string;
  /** Its offset in the log; -1: it was not appended. */
  offset: number;
  ts: number;
  /** Empty: a refused publish without a valid one. */
  targetType: string;
  target: string;
  /** The users of a message to several. */
  targets: ReadonlySet<string> | null;
  /** Null: too long to be kept. */
  data: string | null;
  asksAck: boolean;
  state: TraceState;
  /** Failure code of a refused publish, or 0. */
  failureCode: number;
  /** Why a publish was refused, or the id of the message that a repeat repeats. */
  about: string;
  /** When it came into this state, by the steady clock. */
  atMs: number;
  /** Connections that it was written to, and that waited for it, when it was distributed. */
  written: number;
  waiting: number;
  /** Whether each delivery is followed: it is to users. Others are only counted. */
  isFollowed: boolean;
  /** One for each connection; null: there was none. */
  deliveries: TracedDelivery[] | null;
  /** Whether there are more deliveries than are followed. */
  isPartial: boolean;
  /** Connections of the user to which it does not go, because they are not temporary. */
  otherKind: number;
  /** Instances where the user had a normal connection. */
  presentOn: readonly string[];
  /** Whether it was dropped from the trace. */
  isDropped: boolean;
}
