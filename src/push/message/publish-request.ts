import { isObject, type JsonObject, parseJson } from "../../json.ts";
import { isChannelName } from "./channel-name.ts";
import { type FailureCode, failureCodes } from "./failure-codes.ts";
import { isTargetType, type TargetType } from "./message.ts";
import { isUserId } from "./user-id.ts";

/** A valid body of `POST /feign/publish`. */
export interface PublishRequest {
  targetType: TargetType;
  target: string;
  /** Several users; `target` is empty then. */
  targets?: readonly string[];
  data: string;
  /** Asks the clients of the user to acknowledge it. */
  ack?: true;
  /** The span of the caller. */
  traceparent?: string;
}

/** Why a publish is refused; the fields of the failure envelope. */
export interface PublishRefusal {
  code: FailureCode;
  message: string;
}

export function isRefusal(result: object): result is PublishRefusal {
  return "code" in result;
}

/** Validated without a schema: this is a hot path, and each mistake has its own code. */
export function readPublish(text: string): PublishRequest | PublishRefusal {
  const body = parseJson(text);
  if (body === undefined) return refusal(failureCodes.notJsonObject, "The body is not JSON.");
  if (!isObject(body)) return refusal(failureCodes.notJsonObject, "The body must be a JSON object.");
  return readPublishObject(body);
}

export function readPublishObject(body: JsonObject): PublishRequest | PublishRefusal {
  const { targetType, target = "", data, ack } = body;
  if (!isTargetType(targetType))
    return refusal(failureCodes.targetType, "targetType must be one of all, user, temp_user, channel.");
  const isToAll = targetType === "all";
  const isToUser = targetType === "user" || targetType === "temp_user";
  if (!isToAll && (typeof target !== "string" || target === ""))
    return refusal(
      failureCodes.target,
      `target must be the ${targetType === "channel" ? "channel name" : "user id"}, as a string.`,
    );
  if (targetType === "channel" && typeof target === "string" && !isChannelName(target))
    return refusal(
      failureCodes.target,
      "target must be a channel name of 1 to 255 bytes without control characters.",
    );
  if (isToUser && typeof target === "string" && !isUserId(target))
    return refusal(failureCodes.target, "target must be a user id of 1 to 255 bytes.");
  if (typeof data !== "string") return refusal(failureCodes.data, "data must be given, as a string.");
  const refused = ackRefusal(ack, isToUser);
  if (refused) return refused;
  const request = { targetType, target: isToAll || typeof target !== "string" ? "" : target, data };
  return ack === true ? { ...request, ack } : request;
}

/** Null: `ack` may have this value. */
export function ackRefusal(ack: unknown, isToUser: boolean): PublishRefusal | null {
  if (ack === undefined || ack === null || ack === false || (ack === true && isToUser)) return null;
  const text = ack === true ? "ack is for targetType user and temp_user." : "ack must be true or false.";
  return refusal(failureCodes.ack, text);
}

export function refusal(code: FailureCode, message: string): PublishRefusal {
  return { code, message };
}
