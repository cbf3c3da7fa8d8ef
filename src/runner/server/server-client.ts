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
  type TransferAnswer,
  type TransferEndRequest,
  transferAnswer,
  transferPartTimeoutMs,
  type WantedAnswer,
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
  const post = (path: string, body: unknown, signal: AbortSignal) =>
    call("POST", path, { type: "application/json", body: JSON.stringify(body) }, signal);

  async function call(
    method: "POST" | "PUT",
    path: string,
    { type, body }: { type: string; body: string | Uint8Array<ArrayBuffer> },
    signal: AbortSignal,
  ): Promise<Response> {
    const { server, token } = address();
    const response = await send(`${server.replace(/\/+$/, "")}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": type },
      body,
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
    /** The parts of outputs that people read, and what other runners need; empty: nobody asked while the call waited. */
    async outputWanted(signal: AbortSignal): Promise<WantedAnswer> {
      const timeout = AbortSignal.timeout(claimWaitMs + callTimeoutMs);
      const response = await post(runnerPaths.outputWanted, {}, AbortSignal.any([signal, timeout]));
      return response.status === 200
        ? wantedAnswer.parse(await response.json())
        : { wanted: [], transfers: [] };
    },
    /** Asks for what a task needs of another runner. */
    async transfer(path: string, body: Record<string, unknown>): Promise<TransferAnswer> {
      const response = await post(path, body, AbortSignal.timeout(callTimeoutMs));
      return transferAnswer.parse(await response.json());
    },
    /** A part of it, or how it stands. */
    async transferPart(body: Record<string, unknown>): Promise<Uint8Array | TransferAnswer> {
      const timeout = AbortSignal.timeout(claimWaitMs + transferPartTimeoutMs);
      const response = await post(runnerPaths.transferPart, body, timeout);
      if (response.headers.get("content-type")?.startsWith("application/json"))
        return transferAnswer.parse(await response.json());
      return response.bytes();
    },
    /** Sends a part of what another runner needs. */
    async transferSent(
      id: string,
      part: number,
      bytes: Uint8Array,
      signal: AbortSignal,
    ): Promise<TransferAnswer> {
      const path = runnerPaths.transferSent.replace(":id", id).replace(":part", String(part));
      const body = { type: "application/octet-stream", body: bytes as Uint8Array<ArrayBuffer> };
      const timeout = AbortSignal.timeout(transferPartTimeoutMs);
      const response = await call("PUT", path, body, AbortSignal.any([signal, timeout]));
      return transferAnswer.parse(await response.json());
    },
    async transferEnd(request: TransferEndRequest, signal: AbortSignal): Promise<void> {
      const timeout = AbortSignal.timeout(callTimeoutMs);
      await post(runnerPaths.transferEnd, request, AbortSignal.any([signal, timeout]));
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
