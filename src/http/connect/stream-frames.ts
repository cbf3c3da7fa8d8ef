import type { Server } from "bun";
import { Fault, messageOf } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import { refusals } from "../../push/admission/refusals.ts";
import type { FrameResult } from "../../push/control.ts";
import type { Gateway } from "../../push/gateway.ts";
import { failureCodes } from "../../push/message/failure-codes.ts";
import { readBodyInTime } from "../body.ts";
import { limitKeyOf } from "../client-address.ts";
import { fail, failUnavailable, succeed } from "../feign/feign-envelope.ts";
import { addressOf } from "../request-address.ts";
import type { Handler } from "../server.ts";
import { refusalResponse } from "./handshake.ts";

export interface FrameOptions {
  log: Logger;
  clientAddressOf: (request: Request, server: Server<unknown>) => string;
  clientMaxMessageBytes: number;
}

const bodyTimeoutMs = 10_000;

/**
 * `POST /sse?stream=…`: a frame of a client for its event stream, which may be on another instance. The answer says whether
 * the stream has got it; what the frame asks for is answered on the stream.
 */
export function framesHandler(gateway: Gateway, options: FrameOptions): Handler {
  return async (request, server) => {
    const origin = request.headers.get("origin");
    if (!gateway.admission.allowsOrigin(origin))
      return refusalResponse("origin", { "access-control-allow-origin": "*" });
    const response = await receive(request, server).catch(failed);
    if (origin !== null) {
      response.headers.set("access-control-allow-origin", origin);
      response.headers.set("vary", "origin");
    }
    return response;
  };

  async function receive(request: Request, server: Server<unknown>): Promise<Response> {
    const { clientMaxMessageBytes: maxBytes } = options;
    const { frames, admission } = gateway;
    const name = addressOf(request).searchParams.get("stream") ?? "";
    const rateKey = limitKeyOf(options.clientAddressOf(request, server));
    if (!frames.isHere(name) && !(await admission.allowsCall(rateKey)))
      return refusalResponse("connect_rate");
    if (!frames.mayHave(name)) return answerOf("unknown");
    // The sender of a body that is cut off has disconnected, and nobody reads the answer.
    const body = await readBodyInTime(request, maxBytes, bodyTimeoutMs).catch(() => "too_late" as const);
    if (body === "too_large")
      return fail(failureCodes.tooLarge, `The frame is larger than ${maxBytes} bytes.`);
    if (body === "too_late")
      return fail(failureCodes.bodyTooSlow, "The frame did not arrive in time; send it again.", {
        connection: "close",
      });
    return answerOf(await frames.receive(name, Buffer.from(body).toString()));
  }

  function answerOf(result: FrameResult | null): Response {
    if (result === "accepted") return succeed("accepted");
    if (result === "unknown")
      return fail(failureCodes.noSuchStream, "There is no such stream; it has ended, or the name is wrong.");
    if (result === "busy")
      return fail(failureCodes.streamBusy, "Too many messages of this stream wait for the queue.", retrySoon);
    return fail(failureCodes.unavailable, "The instance of the stream did not answer in time.", retrySoon);
  }

  function failed(error: unknown): Response {
    if (error instanceof Fault && error.code === "unavailable") return failUnavailable(error);
    options.log.error({ error: messageOf(error) }, "a frame for an event stream failed");
    return fail(failureCodes.internal, "Something went wrong on our side; the log has the details.");
  }
}

const retrySoon = { "retry-after": String(refusals.connect_rate.retryAfterSeconds) };
