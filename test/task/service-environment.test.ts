import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { renderReason } from "../../src/reason/reason.ts";
import { eventually } from "../support/eventually.ts";
import { openServiceScene, type ServiceScene } from "../support/keeper-scene.ts";
import { serviceUrl } from "../support/services.ts";

const kind = (await serviceUrl("bwrap")) ? "sandbox" : "none";
let scene: ServiceScene;
beforeEach(async () => {
  scene = await openServiceScene(kind);
});
afterEach(() => scene.stop());

describe("what a service gets", () => {
  test("secrets as files, a folder of the checkout, and a home of its own that it can write", async () => {
    mkdirSync(join(scene.source, "sub"), { recursive: true });
    const command = 'pwd; cat "$KEY"; echo home >"$HOME/x" && echo wrote; ls -l "$KEY"; sleep 100';
    const release = scene.release(
      [scene.service("web", command, { directory: "sub", env: { MORE: "yes" } })],
      {
        variables: { DATA: scene.data, KEY: "-----BEGIN-----\nabc" },
        ...{ secrets: ["KEY"], files: ["KEY"] },
      },
    );
    expect(await scene.deploy(release)).toMatchObject({ state: "success" });
    const text = scene.printed.join("");
    expect(text).toContain(`${scene.source}/sub\n-----BEGIN-----\nabc\nwrote\n`);
    expect(text).toMatch(/-r--------/);
    expect(statSync(join(scene.instance(), "env")).mode & 0o777).toBe(0o600);
  });

  test("a folder that the repository lacks, and a program that is missing, are said", async () => {
    const end = await scene.deploy(scene.release([scene.service("web", "true", { directory: "gone" })]));
    expect(renderReason(end.reason)).toBe("The folder gone of start/web does not exist in the repository.");
    const missing = await scene.deploy(scene.release([scene.service("web", "no-such-program")]));
    expect(renderReason(missing.reason)).toMatch(/ended by itself \(127\).*no-such-program/);
  });

  test("a start script of version 1.0: it lives as long as a process of it", async () => {
    const script = "#!/bin/sh\nsleep 4 &\necho left\n";
    await scene.deploy(
      scene.release([
        scene.service("web", script, {
          background: true,
          restart: "never",
          check: { http: "", tcp: "", command: "true", expect: "", within: 20 },
        }),
      ]),
    );
    expect(scene.state()).toBe("serving");
    await eventually("its last process has ended", () => scene.state() === "down");
  });

  test("limits: a process that takes more memory than allowed ends", async () => {
    const command = 'x=$(head -c 60000000 /dev/zero | tr "\\0" x); echo enough; sleep 100';
    const deploy = (memoryMb: number) =>
      scene.deploy(
        scene.release([scene.service("web", command, { limits: { memoryMb, cpus: null, processes: null } })]),
      );
    expect(await deploy(24)).toMatchObject({ state: "failed" });
    expect(await deploy(2000)).toMatchObject({ state: "success" });
  });

  test("memory and processor time are measured", async () => {
    const command = "while :; do n=0; while [ $n -lt 5000 ]; do n=$((n+1)); done; sleep 0.1; done";
    await scene.deploy(scene.release([scene.service("web", command)]));
    await eventually("figures", () => (scene.report()?.cpu ?? 0) > 0.01, 40_000);
    expect(scene.report()?.memoryBytes).toBeGreaterThan(100_000);
  });
});
