import { isReadableVersion } from "../../bus/record-version.ts";
import { isObject, type JsonObject } from "../../json.ts";
import { isTextList } from "./message.ts";

/** `<prefix>.control`: an action that every instance applies to its own connections. */
export type ControlMessage = { v: number; id: string; node: string } & ControlAction;

export type MessageQuestion = { messageId: string } | { userId: string };

export type ControlAction =
  | {
      type: "kick";
      userId?: string;
      connectionId?: string;
      exceptConsole?: boolean;
      code: number;
      reason: string;
      /** Each process answers with the connections that it closes. */
      isQuestion?: boolean;
    }
  /** Each process answers with its connections. */
  | { type: "askConnections"; userId: string | null }
  /** Each process answers with what it knows about a message, or about the messages to a user. */
  | { type: "askMessages"; question: MessageQuestion }
  /** `to`: the id of the question. */
  | { type: "answer"; to: string; process: string; instance: string; answer: unknown }
  /** A frame of a client for its event stream, which the process has; `stream` is a hash of its name. It answers. */
  | { type: "frame"; process: string; stream: string; text: string }
  | { type: "join"; userId: string; channel: string }
  | { type: "leave"; userId: string; channel: string }
  /** Replaces the user's grants by these names and globs. Connections leave the channels that are no longer granted. */
  | { type: "grant"; userId: string; channels: string[] }
  /** Something that may be used once was used; `key` is a hash of its name. */
  | { type: "use"; key: string }
  /** The other fields are defined in `presence/`. */
  | { type: "presence"; [field: string]: unknown };

export function readControl(value: unknown): ControlMessage | null {
  if (!isObject(value) || !isReadableVersion(value.v)) return null;
  if (typeof value.id !== "string" || typeof value.node !== "string") return null;
  return isControlAction(value) ? (value as ControlMessage) : null;
}

function isControlAction(value: JsonObject): boolean {
  const { type, userId, channel } = value;
  if (type === "presence") return true;
  if (type === "use") return typeof value.key === "string";
  if (type === "askConnections") return userId === null || typeof userId === "string";
  if (type === "askMessages") return isMessageQuestion(value.question);
  if (type === "answer")
    return [value.to, value.process, value.instance].every((field) => typeof field === "string");
  if (type === "frame")
    return [value.process, value.stream, value.text].every((field) => typeof field === "string");
  if (type === "grant") return typeof userId === "string" && isTextList(value.channels);
  if (type === "join" || type === "leave") return typeof userId === "string" && typeof channel === "string";
  if (type !== "kick" || typeof value.code !== "number" || typeof value.reason !== "string") return false;
  return (typeof userId === "string") !== (typeof value.connectionId === "string");
}

function isMessageQuestion(value: unknown): boolean {
  if (!isObject(value)) return false;
  return (typeof value.messageId === "string") !== (typeof value.userId === "string");
}
