import { connect } from "node:net";
import { gitAddressOf } from "../model/git/git-url.ts";
import { newReason, type Reason } from "../reason/reason.ts";
import { hasProxy } from "./checked-address.ts";
import { connectLimitMs, silenceLimitMs } from "./silence-watch.ts";

/**
 * Why git would wait minutes for a connection over http or https, which it cannot limit; null: it would not. Other faults are
 * left to git, which names them, and so are connections through a proxy. ssh has a limit of its own.
 */
export async function connectionFault(
  url: string,
  env: Record<string, string | undefined>,
  stop: AbortSignal,
  /** The checked address of the host; absent: its name is resolved. */
  checkedAddress?: string,
): Promise<Reason | null> {
  const address = gitAddressOf(url);
  if (address === null || address.scheme === "ssh" || hasProxy(address.scheme, env)) return null;
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const host = checkedAddress ?? address.host.replace(/^\[|\]$/g, "");
  const socket = connect({ host, port: Number(address.port) });
  socket.once("connect", () => resolve(true)).once("error", () => resolve(true));
  const timer = setTimeout(() => resolve(false), connectLimitMs);
  const onStop = () => resolve(true);
  stop.addEventListener("abort", onStop, { once: true });
  if (stop.aborted) onStop();
  const hasAnswer = await promise;
  clearTimeout(timer);
  stop.removeEventListener("abort", onStop);
  socket.destroy();
  return hasAnswer
    ? null
    : newReason("git_no_connection", { host: address.host, seconds: connectLimitMs / 1000 });
}

/** Of a git command that was ended, or ended itself, because the host sent nothing. */
export function silenceReason(): Reason {
  return newReason("git_host_silent", { seconds: silenceLimitMs / 1000 });
}

/** What git says if a transfer over http was slower than its settings allow. */
export function isTooSlow(output: string): boolean {
  return /Operation too slow/i.test(output);
}
