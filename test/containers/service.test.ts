import { describe, expect, test } from "bun:test";
import { setUpDeploy } from "../support/deploy-setup.ts";
import { eventually } from "../support/eventually.ts";
import { testImage } from "../support/podman.ts";
import { serviceUrl } from "../support/services.ts";

const podman = await serviceUrl("podman");

describe.skipIf(!podman)("a service with an image", () => {
  test("runs in a container, is reached on its port, and its release records the image", async () => {
    const { server, repository } = await setUpDeploy({
      "runner.engine": "podman",
      "runner.engineArguments": (podman ?? "").split(","),
    });
    const web = {
      command: `while :; do printf 'HTTP/1.0 200 OK\\r\\n\\r\\nfrom a container' | nc -l -p "$PORT"; done`,
      image: testImage,
      check: { tcp: "$PORT", within: 30 },
      stopGrace: 1,
    };
    const id = await server.project(repository.url, {}, { pipeline: { start: { web } } });
    const task = await server.run(id);
    expect(await server.reach(task.id)).toMatchObject({ state: "success" });
    const { services } = await server.admin.expect<{ services: { name: string; port: number }[] }>(
      ...([200, "GET", `/api/projects/${id}/services`] as const),
    );
    await eventually("it answers", async () => {
      const answer = await fetch(`http://127.0.0.1:${services[0]?.port}/`).catch(() => null);
      return (await answer?.text()) === "from a container";
    });
    const { items } = await server.admin.expect<{ items: { images: Record<string, string> }[] }>(
      ...([200, "GET", `/api/projects/${id}/releases`] as const),
    );
    expect(items[0]?.images.web).toMatch(/^(sha256:)?[0-9a-f]{64}$/);
    const stop = await server.admin.expect<{ id: number }>(
      202,
      "POST",
      `/api/projects/${id}/services/web/stop`,
    );
    expect(await server.reach(stop.id)).toMatchObject({ state: "success" });
    expect(await fetch(`http://127.0.0.1:${services[0]?.port}/`).catch(() => null)).toBeNull();
  }, 120_000);
});
