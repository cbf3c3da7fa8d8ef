import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { WireService } from "../../src/runner/protocol.ts";
import type { ServiceScene } from "./keeper-scene.ts";

export const webCheck = (more = {}) => ({
  ...{ http: "/", tcp: "", command: "", expect: "", within: 20 },
  ...more,
});

/** A web server that answers with a text. The sandbox shows the checkout, so that the runtime is a copy in it. */
export function webService(
  scene: ServiceScene,
  text: string,
  more: Partial<WireService> = {},
  port = "process.env.PORT",
): WireService {
  const program = (name: string) => join(scene.source, name);
  writeFileSync(
    program("server.mjs"),
    `Bun.serve({ port: Number(${port}), hostname: "127.0.0.1", fetch: () => new Response(process.env.ANSWER) });
    console.log("listening");`,
  );
  if (!existsSync(program("bun"))) Bun.spawnSync(["cp", process.execPath, program("bun")]);
  return scene.service("web", "./bun server.mjs", {
    port: "$PORT",
    env: { ANSWER: text },
    check: webCheck(),
    ...more,
  });
}

/** What a service answers on its port; null: nothing. */
export async function answerOf(port: number | null | undefined): Promise<string | null> {
  const response = await fetch(`http://127.0.0.1:${port}/`, { keepalive: false }).catch(() => null);
  return response === null ? null : response.text();
}
