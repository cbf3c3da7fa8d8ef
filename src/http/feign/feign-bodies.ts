import { isObject, type JsonObject, parseJson } from "../../json.ts";
import { isChannelName } from "../../push/message/channel-name.ts";
import { failureCodes } from "../../push/message/failure-codes.ts";
import { readBody } from "../body.ts";
import { buildBodyDeadline } from "../body-deadline.ts";
import type { CallHead } from "../call-head.ts";
import { fail } from "./feign-envelope.ts";

const maxBodyBytes = 64 * 1024;
const bodySeconds = 30;
const inTime = buildBodyDeadline(bodySeconds * 1000, () =>
  fail(failureCodes.bodyTooSlow, `The body did not arrive whole within ${bodySeconds} s; send it again.`, {
    connection: "close",
  }),
);

/** The text of a JSON body, or the failure response. */
export function readJsonText(
  request: Request,
  { contentType, contentLength, contentEncoding }: CallHead,
  maxBytes: number,
): Promise<string | Response> | Response {
  if (contentType !== "application/json" && !/^application\/json *(;|$)/i.test(contentType ?? ""))
    return fail(failureCodes.contentType, "Content-Type must be application/json.");
  if (contentEncoding !== null && contentEncoding.toLowerCase() !== "identity")
    return fail(
      failureCodes.contentType,
      `The body must not be compressed; the request has Content-Encoding: ${contentEncoding}.`,
    );
  // The runtime reads no more than the declared length, so counting is needed only without one.
  const isBounded = contentLength !== null && Number(contentLength) <= maxBytes;
  return inTime(isBounded ? request.text() : readCounted(request, maxBytes));
}

async function readCounted(request: Request, maxBytes: number): Promise<string | Response> {
  const body = await readBody(request, maxBytes);
  return body === "too_large"
    ? fail(failureCodes.tooLarge, `The body is larger than ${maxBytes} bytes.`)
    : new TextDecoder().decode(body);
}

async function readObject(request: Request, head: CallHead): Promise<JsonObject | Response> {
  const text = await readJsonText(request, head, maxBodyBytes);
  if (typeof text !== "string") return text;
  const body = parseJson(text);
  return isObject(body) ? body : fail(failureCodes.notJsonObject, "The body must be a JSON object.");
}

export interface DisconnectRequest {
  selector: { userId: string } | { connectionId: string };
  closeCode: number | undefined;
}

/** `{userId | connectionId, code?}` */
export async function readDisconnect(
  request: Request,
  head: CallHead,
): Promise<DisconnectRequest | Response> {
  const body = await readObject(request, head);
  if (body instanceof Response) return body;
  const { userId, connectionId, code } = body;
  if (code !== undefined && !isCloseCode(code))
    return fail(
      failureCodes.closeCode,
      "code must be a close code from 4000 to 4999, or 1000, 1001, 1008, 1011, 1012, 1013.",
    );
  if (isName(userId) && connectionId === undefined) return { selector: { userId }, closeCode: code };
  if (isName(connectionId) && userId === undefined) return { selector: { connectionId }, closeCode: code };
  return fail(failureCodes.target, "Give either userId or connectionId, as a string.");
}

/** `{userId, channel}` */
export async function readMembership(
  request: Request,
  head: CallHead,
): Promise<{ userId: string; channel: string } | Response> {
  const body = await readObject(request, head);
  if (body instanceof Response) return body;
  const { userId, channel } = body;
  if (!isName(userId)) return fail(failureCodes.target, "userId must be given, as a string.");
  if (typeof channel !== "string" || !isChannelName(channel))
    return fail(failureCodes.target, "channel must be a name of 1 to 255 bytes without control characters.");
  return { userId, channel };
}

/** `{userId, channels}` */
export async function readGrant(
  request: Request,
  head: CallHead,
): Promise<{ userId: string; channels: string[] } | Response> {
  const body = await readObject(request, head);
  if (body instanceof Response) return body;
  const { userId, channels } = body;
  if (!isName(userId)) return fail(failureCodes.target, "userId must be given, as a string.");
  if (!Array.isArray(channels) || !channels.every(isName))
    return fail(failureCodes.target, "channels must be a list of channel names and globs.");
  return { userId, channels };
}

function isName(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

const plainCloseCodes = [1000, 1001, 1008, 1011, 1012, 1013];

function isCloseCode(value: unknown): value is number {
  return (
    typeof value === "number" &&
    (plainCloseCodes.includes(value) || (value >= 4000 && value <= 4999 && Number.isInteger(value)))
  );
}
