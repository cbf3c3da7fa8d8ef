import { networkInterfaces } from "node:os";
import { messageOf } from "../../errors.ts";
import type { ServiceCheck } from "../../model/service/service.ts";
import { newReason, type Reason } from "../../reason/reason.ts";

/** A check with all values filled in. */
export type FilledCheck =
  | { type: "http"; url: string; expect: string }
  | { type: "tcp"; host: string; port: number }
  | { type: "command"; command: string };

export interface CheckParts {
  /** Runs a command beside the service; returns its exit code. */
  runCommand(command: string, timeoutMs: number): Promise<number>;
  /** Why a local port is not that of the service; null: it is. */
  foreignListener(port: number): Reason | null;
}

/** `$PORT` and `$CI_…`, also in braces, become the values that the service has. */
export function fillCheck(
  check: ServiceCheck,
  variables: Record<string, string>,
  port: number | null,
): FilledCheck {
  const fill = (text: string) =>
    text.replace(
      /\$(?:(PORT|CI_[A-Z_]+)|\{(PORT|CI_[A-Z_]+)\})/g,
      (written, plain: string | undefined, braced: string | undefined) =>
        variables[plain ?? braced ?? ""] ?? written,
    );
  if (check.command !== "") return { type: "command", command: check.command };
  if (check.tcp !== "") {
    const [, host = "localhost", at = ""] = /^(?:(.+):)?(\d+)$/.exec(fill(check.tcp)) ?? [];
    return { type: "tcp", host: host.replace(/^\[|\]$/g, ""), port: Number(at || port) };
  }
  const http = fill(check.http);
  const url = http.startsWith("/") ? `http://localhost:${port ?? 80}${http}` : http;
  return { type: "http", url, expect: fill(check.expect) };
}

export function describeCheck(check: FilledCheck): string {
  if (check.type === "http") return check.url;
  return check.type === "tcp" ? `${check.host}:${check.port}` : `\`${check.command}\``;
}

/** Null: the service is healthy; otherwise what was found. */
export async function checkOnce(
  check: FilledCheck,
  timeoutMs: number,
  parts: CheckParts,
): Promise<Reason | null> {
  try {
    if (check.type === "command") {
      const exitCode = await parts.runCommand(check.command, timeoutMs);
      return exitCode === 0 ? null : `exit code ${exitCode}`;
    }
    const port = localPortOf(check);
    const found = check.type === "http" ? await tryHttp(check, timeoutMs) : await tryTcp(check, timeoutMs);
    // Also if it failed: another program that holds the port is usually the cause.
    const foreign = port === null ? null : parts.foreignListener(port);
    return found === null ? foreign : foreign !== null && isTaken(foreign) ? foreign : found;
  } catch (error) {
    return messageOf(error);
  }
}

function isTaken(reason: Reason): boolean {
  return typeof reason === "object" && "code" in reason && reason.code !== "port_not_own";
}

async function tryHttp({ url, expect }: Extract<FilledCheck, { type: "http" }>, timeoutMs: number) {
  const response = await fetch(url, {
    redirect: "manual",
    keepalive: false,
    signal: AbortSignal.timeout(timeoutMs),
  }).catch((error: unknown) => messageOf(error));
  if (typeof response === "string") return response;
  if (!response.ok || expect === "") {
    await response.body?.cancel();
    return response.ok ? null : newReason("check_status", { status: response.status });
  }
  return (await beginningOf(response)).includes(expect) ? null : newReason("check_lacks", { text: expect });
}

const bodyMaxBytes = 1024 * 1024;

async function beginningOf(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  const chunks: Uint8Array[] = [];
  for (let size = 0; reader && size < bodyMaxBytes; ) {
    const { done, value } = await reader.read();
    if (done) return Buffer.concat(chunks).toString("utf8");
    size += value.length;
    chunks.push(value);
  }
  await reader?.cancel();
  return Buffer.concat(chunks).toString("utf8");
}

async function tryTcp({ host, port }: Extract<FilledCheck, { type: "tcp" }>, timeoutMs: number) {
  const { promise, resolve } = Promise.withResolvers<string | null>();
  const timer = setTimeout(() => resolve("no connection in time"), timeoutMs);
  Bun.connect({
    hostname: host,
    port,
    socket: {
      open(socket) {
        resolve(null);
        socket.end();
      },
      data() {},
      connectError: (_socket, error) => resolve(error.message),
    },
  }).catch((error: unknown) => resolve(messageOf(error)));
  return promise.finally(() => clearTimeout(timer));
}

/** The port of this machine that a check asks; null: it asks another machine. */
function localPortOf(check: Exclude<FilledCheck, { type: "command" }>): number | null {
  if (check.type === "tcp") return isThisMachine(check.host) ? check.port : null;
  if (!URL.canParse(check.url)) return null;
  const { hostname, port, protocol } = new URL(check.url);
  return isThisMachine(hostname) ? Number(port || (protocol === "https:" ? 443 : 80)) : null;
}

function isThisMachine(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, "").toLowerCase();
  if (name === "localhost" || name.endsWith(".localhost") || name.startsWith("127.")) return true;
  const own = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return ["::1", "::", "0.0.0.0"].includes(name) || own.some(({ address }) => address === name);
}
