import { join } from "node:path";
import { eventually } from "./eventually.ts";
import { freePort } from "./free-port.ts";
import { type PushApp, startPushApp } from "./push-app.ts";
import { endWithUs } from "./service-process.ts";
import { startTcpProxy, type TcpProxy } from "./tcp-proxy.ts";

export const examplesFolder = join(import.meta.dir, "../../examples");

/** A gateway, the backend of an example, and a network between browsers and the gateway that can be cut. */
export interface ExampleScene {
  app: PushApp;
  /** Where browsers reach the gateway. */
  network: TcpProxy;
  url: string;
  notify(user: string, text: string): Promise<void>;
  stop(): Promise<void>;
}

/** Spring Boot starts slowly on a busy machine. */
const startLimitMs = 180_000;

/** `pushUrl`: another way for browsers to the gateway. */
export async function startExample(
  command: string[],
  pushUrl?: (app: PushApp) => string,
): Promise<ExampleScene> {
  const port = freePort();
  const url = `http://127.0.0.1:${port}`;
  const app = await startPushApp({ "push.verify-uri": `${url}/verify`, "push.allowed-origins": [url] });
  const network = startTcpProxy({ hostname: "127.0.0.1", port: app.port });
  const backend = await startBackend(command, {
    ...{ PORT: String(port), GATEWAY: app.url },
    PUSH_URL: pushUrl?.(app) ?? `http://127.0.0.1:${network.port}`,
  });
  return {
    app,
    network,
    url,
    async notify(user, text) {
      const answer = await fetch(`${url}/notify?user=${user}`, { method: "POST", body: text });
      if (!answer.ok) throw new Error(`${answer.status}: ${await answer.text()}`);
    },
    async stop() {
      await backend.stop();
      network.stop();
      await app.stop();
    },
  };
}

/** The backend of an example, which answers on 127.0.0.1 at its PORT. */
export async function startBackend(
  command: string[],
  env: Record<"PORT" | "GATEWAY" | "PUSH_URL", string>,
): Promise<{ stop(): Promise<void> }> {
  const child = Bun.spawn([...endWithUs(), ...command], {
    env: { ...process.env, ...env },
    stdin: "ignore",
    stdout: "ignore",
    stderr: "inherit",
  });
  const answers = () =>
    fetch(`http://127.0.0.1:${env.PORT}/push-url`).then(
      ({ ok }) => ok,
      () => {
        if (child.exitCode !== null) throw new Error(`The example ended with code ${child.exitCode}.`);
        return false;
      },
    );
  await eventually("the example answers", answers, startLimitMs);
  return {
    async stop() {
      child.kill("SIGKILL");
      await child.exited;
    },
  };
}
