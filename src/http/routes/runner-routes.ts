import { z } from "zod";
import type { Credentials } from "../../account/credential.ts";
import { Fault, messageOf } from "../../errors.ts";
import { parseJson } from "../../json.ts";
import type { Logger } from "../../logger.ts";
import type { Runner } from "../../model/runner.ts";
import { newReason } from "../../reason/reason.ts";
import {
  beatRequest,
  claimRequest,
  finishRequest,
  type Held,
  type HeldAnswer,
  logRequest,
  outputTextRequest,
  partRequest,
  pipelineRequest,
  rollbackRequest,
  runnerPaths,
  servicesRequest,
  stageRequest,
  type TransferAnswer,
  transferEndRequest,
  transferPartBytes,
  transferPartTimeoutMs,
  transferRequest,
} from "../../runner/protocol.ts";
import { hashToken } from "../../secrets.ts";
import type { Dispatch } from "../../task/hand-out/dispatch.ts";
import type { HeldCalls } from "../../task/hand-out/held-calls.ts";
import type { HeldLease } from "../../task/queue.ts";
import type { ServiceReports } from "../../task/service/service-reports.ts";
import type { WantedOutputs } from "../../task/service/wanted-output.ts";
import type { Transfers } from "../../task/transfer/transfers.ts";
import { invalidInput } from "../api/field-faults.ts";
import { bearerOf } from "../auth.ts";
import { readBodyInTime, readText } from "../body.ts";
import { addressOf } from "../request-address.ts";
import { faultResponse } from "../respond.ts";
import type { Handler, Routes } from "../server.ts";

export interface RunnerRoutesParts {
  credentials: Pick<Credentials, "runnerOf" | "activeRunnerOf">;
  dispatch: Dispatch;
  calls: HeldCalls;
  services: ServiceReports;
  outputs: WantedOutputs;
  transfers: Transfers;
  leaseMs: number;
  log: Logger;
}

/** Far more than a runner sends: its batches of log lines have a quarter of a megabyte. */
const bodyLimits = { maxBytes: 16 * 1024 * 1024, timeoutMs: 30_000 };

/** The runner protocol, authenticated by a runner's token. It is not part of the management API. */
export function runnerRoutes({
  credentials,
  dispatch,
  calls,
  services,
  outputs,
  transfers,
  leaseMs,
  log,
}: RunnerRoutesParts): Routes {
  function endpoint<T>(
    runnerOf: Credentials["runnerOf"],
    schema: z.ZodType<T>,
    answer: (runner: Runner, body: T, signal: AbortSignal) => Promise<Response>,
  ): { POST: Handler } {
    return {
      POST: guarded(runnerOf, async (runner, request) =>
        answer(runner, await read(request, schema), request.signal),
      ),
    };
  }

  function guarded(
    runnerOf: Credentials["runnerOf"],
    answer: (runner: Runner, request: Request) => Promise<Response>,
  ): Handler {
    return async (request) => {
      try {
        return await answer(await runnerOf(bearerOf(request.headers)), request);
      } catch (error) {
        if (error instanceof Fault) return faultResponse(error);
        log.error({ path: addressOf(request).pathname, error: messageOf(error) }, "a runner's call failed");
        return faultResponse(new Fault("internal", "The call failed; the server's log says why."));
      }
    };
  }

  const leaseOf = (runner: Runner, { taskId, attempt, lease }: Held): HeldLease => ({
    ...{ taskId, attempt, leaseMs, runnerId: runner.id, leaseHash: hashToken(lease) },
  });

  const { runnerOf, activeRunnerOf } = credentials;
  return {
    [runnerPaths.hello]: endpoint(activeRunnerOf, claimRequest, async (runner, body) =>
      Response.json(await dispatch.hello(runner, body)),
    ),
    // A disabled runner still ends what it has: it gets actions with services, and 401 if there is none.
    [runnerPaths.claim]: endpoint(runnerOf, claimRequest, async (runner, body, signal) => {
      const instruction = await dispatch.claim(runner, body, signal);
      return instruction ? Response.json(instruction) : new Response(null, { status: 204 });
    }),
    [runnerPaths.beat]: endpoint(runnerOf, beatRequest, async (runner, body, signal) =>
      held(await calls.beat(runner, body, signal)),
    ),
    [runnerPaths.log]: endpoint(runnerOf, logRequest, async (runner, body) =>
      held(await calls.log(runner, body)),
    ),
    [runnerPaths.stage]: endpoint(runnerOf, stageRequest, async (runner, body) =>
      held(await calls.stage(runner, body)),
    ),
    [runnerPaths.pipeline]: endpoint(runnerOf, pipelineRequest, async (runner, body) =>
      held(await calls.pipeline(runner, body)),
    ),
    [runnerPaths.finish]: endpoint(runnerOf, finishRequest, async (runner, body) =>
      held(await calls.finish(runner, body)),
    ),
    [runnerPaths.rollback]: endpoint(runnerOf, rollbackRequest, async (runner, body) =>
      held(await calls.rollback(runner, body)),
    ),
    // A disabled runner gets no more tasks, and its services go on.
    [runnerPaths.services]: endpoint(runnerOf, servicesRequest, async (runner, body) => {
      await services.report(runner, body);
      return Response.json({});
    }),
    [runnerPaths.outputWanted]: endpoint(runnerOf, z.object({}), async (runner, _body, signal) =>
      Response.json(await outputs.wanted(runner, signal)),
    ),
    [runnerPaths.outputText]: endpoint(runnerOf, outputTextRequest, async (runner, body) => {
      await outputs.answered(runner, body);
      return Response.json({});
    }),
    [runnerPaths.transfer]: endpoint(runnerOf, transferRequest, async (runner, body) =>
      transferred(await transfers.begin(leaseOf(runner, body), body)),
    ),
    [runnerPaths.transferPart]: endpoint(runnerOf, partRequest, async (runner, body, signal) =>
      transferred(await transfers.part(leaseOf(runner, body), body, signal)),
    ),
    [runnerPaths.transferSent]: {
      PUT: guarded(runnerOf, async (runner, request) => {
        const [last, id = ""] = addressOf(request).pathname.split("/").toReversed();
        const part = readAs(partRequest.shape.part, Number(last), "param");
        const bytes = await readBodyInTime(request, transferPartBytes, transferPartTimeoutMs);
        if (bytes === "too_late")
          throw new Fault("too_late", newReason("body_late", { seconds: transferPartTimeoutMs / 1000 }));
        if (bytes === "too_large")
          throw new Fault("too_large", newReason("body_over", { bytes: transferPartBytes }));
        return transferred(await transfers.sent(runner, id, part, bytes));
      }),
    },
    [runnerPaths.transferEnd]: endpoint(runnerOf, transferEndRequest, async (runner, body) => {
      await transfers.ended(runner, body);
      return Response.json({});
    }),
  };
}

async function read<T>(request: Request, schema: z.ZodType<T>): Promise<T> {
  const text = await readText(request, bodyLimits);
  const value = parseJson(text);
  if (value === undefined) throw new Fault("malformed", newReason("body_not_json"));
  return readAs(schema, value, "json");
}

function readAs<T>(schema: z.ZodType<T>, value: unknown, target: "json" | "param"): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw invalidInput(target, parsed.error.issues);
}

/** Null: the runner does not hold the task any more. */
function transferred(answer: Uint8Array<ArrayBuffer> | TransferAnswer | null): Response {
  if (answer instanceof Uint8Array)
    return new Response(answer, { headers: { "content-type": "application/octet-stream" } });
  const gone = { state: "failed", reason: "The runner does not hold the task any more.", isFinal: true };
  return Response.json(answer ?? gone);
}

function held(answer: HeldAnswer): Response {
  return Response.json(answer, { status: answer.why === "lease_lost" ? 409 : 200 });
}
