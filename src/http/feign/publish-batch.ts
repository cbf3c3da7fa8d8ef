import { Fault } from "../../errors.ts";
import { isObject, type JsonObject, parseJson } from "../../json.ts";
import { isConsoleTarget } from "../../model/console/console-names.ts";
import type { Gateway } from "../../push/gateway.ts";
import { failureCodes } from "../../push/message/failure-codes.ts";
import {
  ackRefusal,
  isRefusal,
  type PublishRefusal,
  type PublishRequest,
  readPublishObject,
  refusal,
} from "../../push/message/publish-request.ts";
import type { CallHead } from "../call-head.ts";
import { readJsonText } from "./feign-bodies.ts";
import type { CallerRules } from "./feign-callers.ts";
import { consoleRefusal, fail, failUnavailable, succeed } from "./feign-envelope.ts";

export interface PublishBatchOptions {
  callers: CallerRules;
  maxMessageBytes: number;
}

/** The answer to one message or user of a batch. */
type Entry = { code: 0; id: string; receivers?: number } | PublishRefusal;

const maxMessages = 1_000;
const maxUsers = 10_000;
/** For the names and keys of a batch, in addition to what one message may need. */
const namesBytes = 4 * 1024 * 1024;

/**
 * `POST /feign/publishBatch`: several messages, or one message to several users. Every entry has its own answer, in the
 * order of the request. All are handed to the log before the first confirmation is awaited; a message to several users is
 * one record of the log.
 */
export function publishBatchOperation({ publisher }: Gateway, options: PublishBatchOptions) {
  const { callers, maxMessageBytes } = options;
  const maxBodyBytes = 6 * maxMessageBytes + namesBytes;

  /** Never rejects. */
  async function publish(request: PublishRequest, key: unknown, head: CallHead): Promise<Entry | Fault> {
    if (head.traceparent !== null) request.traceparent = head.traceparent;
    if (key !== undefined && key !== null && typeof key !== "string")
      return publisher.refuse(
        request,
        refusal(failureCodes.idempotencyKey, "idempotencyKey must be a string."),
        head.traceparent,
      );
    try {
      const published =
        typeof key === "string"
          ? await publisher.publishOnce(request, { key, caller: callers.callerOf(head) })
          : await publisher.publish(request);
      if (isRefusal(published)) return published;
      const { id, receivers } = published;
      return { code: 0, id, ...(receivers === null ? {} : { receivers }) };
    } catch (error) {
      if (error instanceof Fault && error.code === "too_large")
        return { code: failureCodes.tooLarge, message: error.message };
      if (error instanceof Fault && error.code === "unavailable") return error;
      throw error;
    }
  }

  return async (request: Request, head: CallHead): Promise<Response> => {
    const text = await readJsonText(request, head, maxBodyBytes);
    if (typeof text !== "string") return text;
    const body = parseJson(text);
    if (!isObject(body)) return fail(failureCodes.notJsonObject, "The body must be a JSON object.");
    const { messages, users } = body;
    if (Array.isArray(messages) === Array.isArray(users))
      return fail(failureCodes.batch, "Give either messages or users, as a list.");
    if (Array.isArray(users)) return toUsers(body, users, head);
    return ofMessages(messages as unknown[], head);
  };

  async function ofMessages(messages: unknown[], head: CallHead): Promise<Response> {
    if (messages.length > maxMessages)
      return fail(failureCodes.batch, `A batch has at most ${maxMessages} messages.`);
    if (head.idempotencyKey !== null)
      return fail(
        failureCodes.idempotencyKey,
        "Give each message its own idempotencyKey, in place of the header.",
      );
    const mayActForConsole = callers.mayActForConsole(head);
    const entries = await Promise.all(
      messages.map((message): Promise<Entry | Fault> | Entry => {
        if (!isObject(message)) return publisher.refuse(message, notAnObject, head.traceparent);
        const read = readAllowed(message, mayActForConsole);
        return isRefusal(read)
          ? publisher.refuse(message, read, head.traceparent)
          : publish(read, message.idempotencyKey, head);
      }),
    );
    const faults = entries.filter((entry) => entry instanceof Fault);
    const [fault] = faults;
    if (fault && faults.length === entries.length) return failUnavailable(fault);
    return succeed(entries.map(entryOf));
  }

  /** One message: all users have the same id. */
  async function toUsers(body: JsonObject, users: unknown[], head: CallHead): Promise<Response> {
    if (users.length > maxUsers)
      return fail(failureCodes.batch, `A message goes to at most ${maxUsers} users.`);
    const { targetType = "user", data, ack, idempotencyKey } = body;
    if (targetType !== "user" && targetType !== "temp_user")
      return fail(failureCodes.targetType, "targetType must be one of user, temp_user.");
    const mayActForConsole = callers.mayActForConsole(head);
    if (typeof data !== "string") return fail(failureCodes.data, "data must be given, as a string.");
    const refusedAck = ackRefusal(ack, true);
    if (refusedAck) return fail(refusedAck.code, refusedAck.message);
    const refusals: (PublishRefusal | null)[] = [];
    const targets = new Set<string>();
    for (const user of users) {
      const read = readAllowed({ targetType, target: user, data: "" }, mayActForConsole);
      refusals.push(
        isRefusal(read) ? publisher.refuse({ targetType, target: user }, read, head.traceparent) : null,
      );
      if (!isRefusal(read)) targets.add(read.target);
    }
    const key = head.idempotencyKey ?? idempotencyKey;
    const request: PublishRequest = { targetType, target: "", targets: [...targets], data };
    if (ack === true) request.ack = true;
    const entry = targets.size === 0 ? null : await publish(request, key, head);
    if (entry instanceof Fault) return failUnavailable(entry);
    if (entry && "message" in entry) return fail(entry.code, entry.message);
    const { id = "", receivers } = entry ?? {};
    const answer = succeed(refusals.map((refused) => refused ?? { code: 0, id }));
    if (id !== "") answer.headers.set("x-push-id", id);
    if (receivers !== undefined) answer.headers.set("x-push-receivers", String(receivers));
    return answer;
  }
}

const notAnObject = refusal(failureCodes.notJsonObject, "A message must be a JSON object.");

/** The same checks as for a single publish. */
function readAllowed(body: JsonObject, mayActForConsole: boolean): PublishRequest | PublishRefusal {
  const read = readPublishObject(body);
  if (isRefusal(read) || mayActForConsole) return read;
  return isConsoleTarget(read.targetType, read.target) ? consoleRefusal : read;
}

function entryOf(entry: Entry | Fault): Entry {
  return entry instanceof Fault ? { code: failureCodes.unavailable, message: entry.message } : entry;
}
