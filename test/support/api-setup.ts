import { afterAll } from "bun:test";
import { type Clock, systemClock } from "../../src/clock.ts";
import type { Config } from "../../src/config/config.ts";
import { startApiServer } from "./api-server.ts";
import type { TestDatabase } from "./databases.ts";
import { startHookServer } from "./hook-server.ts";
import { startProtocolScene } from "./protocol-scene.ts";
import { startPushApp } from "./push-app.ts";

/**
 * Servers that stop after the file, the `describe` block or the test that starts them. Not for `beforeAll`: what
 * starts there would stop with it.
 */
export const setUpApi = stopped(startApiServer);
export const setUpPush = stopped(startPushApp);

export async function setUpProtocol(...options: Parameters<typeof startProtocolScene>) {
  const scene = await startProtocolScene(...options);
  afterAll(() => scene.server.stop());
  return scene;
}

/** The webhook alone on a database of its own. */
export async function setUpHooks(
  make: () => Promise<TestDatabase>,
  settings: Partial<Config> = {},
  clock: Clock = systemClock,
) {
  const database = await make();
  const server = await startHookServer(await database.open(), settings, clock);
  afterAll(async () => {
    await server.stop();
    await database.remove();
  });
  return server;
}

function stopped<Options extends unknown[], Server extends { stop(): Promise<void> }>(
  start: (...options: Options) => Promise<Server>,
): (...options: Options) => Promise<Server> {
  return async (...options) => {
    const server = await start(...options);
    afterAll(() => server.stop());
    return server;
  };
}
