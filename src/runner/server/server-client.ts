import type { Reason } from "../../reason/reason.ts";
import { reasonJson } from "../../reason/reason-json.ts";
import {
  type ClaimRequest,
  claimWaitMs,
  type HeldAnswer,
  type HelloAnswer,
  heldAnswer,
  helloAnswer,
  type OutputTextRequest,
  runnerPaths,
  type ServicesRequest,
  type WantedOutput,
  wantedAnswer,
} from "../protocol.ts";

const callTimeoutMs = 15_000;

/** The server's address and how this runner presents itself there. */
export interface ServerAddress {
  server: string;
  token: string;
  /** Why scripts are not isolated: people see it at the server. */
  isolationNote?: Reason | undefined;
}

/** The server answered with an error. */
export class ServerRefusal extends Error {
  override readonly name = "ServerRefusal";
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Unknown, deleted or disabled: only a person can change that. */
export function isTokenRefused(error: unknown): error is ServerRefusal {
  return error instanceof ServerRefusal && (error.status === 401 || error.status === 403);
}

export function buildServerClient(
  /** Read for each call: a local server may restart on another port. */
  address: () => ServerAddress,
  send: typeof fetch = fetch,
) {
  async function post(path: string, body: unknown, signal: AbortSignal): Promise<Response> {
    const { server, token } = address();
    const response = await send(`${server.replace(/\/+$/, "")}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify(body),
      redirect: "error",
      signal,
    });
    if (response.ok || response.status === 409) return response;
    const text = (await response.text()).slice(0, 500);
    throw new ServerRefusal(response.status, `the server answered ${response.status}: ${text}`);
  }

  function presented(request: ClaimRequest): ClaimRequest {
    const { isolationNote } = address();
    if (isolationNote === undefined) return request;
    return { ...request, isolationNote: reasonJson({ reason: isolationNote }) };
  }

  return {
    /** The runner's name and labels on the server. */
    async hello(request: ClaimRequest, signal: AbortSignal): Promise<HelloAnswer> {
      const timeout = AbortSignal.timeout(callTimeoutMs);
      const response = await post(runnerPaths.hello, presented(request), AbortSignal.any([signal, timeout]));
      return helloAnswer.parse(await response.json());
    },
    /** The server's instruction, not yet parsed; null: there is no work now. */
    async claim(request: ClaimRequest, signal: AbortSignal): Promise<unknown> {
      const timeout = AbortSignal.timeout(claimWaitMs + callTimeoutMs);
      const response = await post(runnerPaths.claim, presented(request), AbortSignal.any([signal, timeout]));
      return response.status === 200 ? await response.json() : null;
    },
    /** Beat, log, stage or finish of a held task. */
    async held(path: string, body: Record<string, unknown>, timeoutMs: number): Promise<HeldAnswer> {
      const response = await post(path, body, AbortSignal.timeout(timeoutMs));
      return heldAnswer.parse(await response.json());
    },
    /** Everything that runs here. */
    async services(request: ServicesRequest, signal: AbortSignal): Promise<void> {
      await post(
        runnerPaths.services,
        request,
        AbortSignal.any([signal, AbortSignal.timeout(callTimeoutMs)]),
      );
    },
    /** The parts of outputs that people read; empty: nobody did while the call waited. */
    async outputWanted(signal: AbortSignal): Promise<WantedOutput[]> {
      const timeout = AbortSignal.timeout(claimWaitMs + callTimeoutMs);
      const response = await post(runnerPaths.outputWanted, {}, AbortSignal.any([signal, timeout]));
      return response.status === 200 ? wantedAnswer.parse(await response.json()).wanted : [];
    },
    async outputText(request: OutputTextRequest, signal: AbortSignal): Promise<void> {
      await post(
        runnerPaths.outputText,
        request,
        AbortSignal.any([signal, AbortSignal.timeout(callTimeoutMs)]),
      );
    },
  };
}
export type ServerClient = ReturnType<typeof buildServerClient>;
