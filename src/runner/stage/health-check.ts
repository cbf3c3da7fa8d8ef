import { pause } from "../../clock.ts";
import { messageOf } from "../../errors.ts";
import type { HealthCheck } from "../../model/pipeline.ts";

export interface HealthCheckOptions {
  stop: AbortSignal;
  /** Runs a command in the stage's environment; returns its exit code. */
  runCommand(command: string, timeoutMs: number): Promise<number>;
  fetch: typeof fetch;
  /** True: no later attempt can pass. */
  isHopeless?(): boolean;
}

const betweenTriesMs = 250;
const tryTimeoutMs = 5000;

/** Repeats the check until the service answers or the time is over. Null: healthy; otherwise the last result. */
export async function checkHealth(check: HealthCheck, options: HealthCheckOptions): Promise<string | null> {
  const endsAt = performance.now() + check.timeoutSeconds * 1000;
  for (;;) {
    const leftMs = Math.max(1, Math.min(tryTimeoutMs, endsAt - performance.now()));
    const found = await tryOnce(check, leftMs, options);
    if (found === null) return null;
    if (options.stop.aborted) return "it was stopped";
    if (performance.now() + betweenTriesMs >= endsAt || options.isHopeless?.()) return found;
    await pause(betweenTriesMs, options.stop);
  }
}

/** `$PORT` and `$CI_…`, also in braces, become the values that the script had. */
export function fillCheck(check: HealthCheck, env: Record<string, string>): HealthCheck {
  const fill = (text: string) =>
    text.replace(
      /\$(?:(PORT|CI_[A-Z_]+)|\{(PORT|CI_[A-Z_]+)\})/g,
      (written, plain: string | undefined, braced: string | undefined) =>
        env[plain ?? braced ?? ""] ?? written,
    );
  if (check.type === "http")
    return {
      ...check,
      url: fill(check.url),
      ...(check.expect === undefined ? {} : { expect: fill(check.expect) }),
    };
  if (check.type === "tcp") return { ...check, port: Number(fill(String(check.port))) };
  return check;
}

export function describeCheck(check: HealthCheck): string {
  if (check.type === "http") return check.url;
  if (check.type === "tcp") return `${check.host}:${check.port}`;
  return `\`${check.command}\``;
}

async function tryOnce(
  check: HealthCheck,
  timeoutMs: number,
  options: HealthCheckOptions,
): Promise<string | null> {
  try {
    if (check.type === "http") return await tryHttp(check, timeoutMs, options.fetch);
    if (check.type === "tcp") return await tryTcp(check.host, Number(check.port), timeoutMs);
    const exitCode = await options.runCommand(check.command, timeoutMs);
    return exitCode === 0 ? null : `exit code ${exitCode}`;
  } catch (error) {
    return messageOf(error);
  }
}

type HttpCheck = Extract<HealthCheck, { type: "http" }>;

async function tryHttp(
  { url, expect }: HttpCheck,
  timeoutMs: number,
  send: typeof fetch,
): Promise<string | null> {
  const response = await send(url, {
    redirect: "manual",
    keepalive: false,
    signal: AbortSignal.timeout(timeoutMs),
  });
  if (!response.ok || expect === undefined) {
    await response.body?.cancel();
    return response.ok ? null : `status ${response.status}`;
  }
  return (await beginningOf(response)).includes(expect) ? null : `the response does not contain "${expect}"`;
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

async function tryTcp(hostname: string, port: number, timeoutMs: number): Promise<string | null> {
  const { promise, resolve } = Promise.withResolvers<string | null>();
  const timer = setTimeout(() => resolve("no connection in time"), timeoutMs);
  Bun.connect({
    hostname,
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
