import { afterAll, describe, expect, test } from "bun:test";
import { setUpDeploy, setUpServerProcess } from "../support/deploy-setup.ts";
import { testImage } from "../support/podman.ts";
import { isAlive } from "../support/process-watch.ts";
import { serviceUrl } from "../support/services.ts";
import { withoutGroups } from "../support/without-groups.ts";

const podman = await serviceUrl("podman");
const scenes = {
  "with control groups, if it may create any": await setUpDeploy({ "runner.hostSteps": true }),
  "without control groups": await setUpServerProcess({ "runner-host-steps": "true" }, withoutGroups),
};
const name = `slipway-detached-${process.pid}`;
const run = (...args: string[]) => Bun.spawnSync(["podman", ...args]).stdout.toString();
/** The monitor of the container, and its first process. */
const living = () =>
  run("inspect", "--format", "{{.State.ConmonPid}} {{.State.Pid}}", name)
    .split(" ")
    .map(Number)
    .filter(isAlive);
afterAll(() => run("rm", "--force", "--ignore", "--time", "0", name));

const onHost = (script: string) => ({ script, host: true });

/** Podman moves its monitor and the container into control groups of their own, as it does for a person at a shell. */
const detach = `podman run --detach --replace --name ${name} ${(podman ?? "").replaceAll(",", " ")} ${testImage} sleep 300`;

describe.skipIf(!podman)("a container that a script starts belongs to podman", () => {
  test.each(Object.entries(scenes))("on a runner %s", async (_name, { server, repository }) => {
    const id = await server.project(repository.url, {}, { pipeline: { deploy: [onHost(detach)] } });
    await server.reach((await server.run(id)).id, "success");
    expect(living()).toHaveLength(2);

    const failing = await server.project(
      repository.url,
      {},
      { pipeline: { start: [onHost(`${detach}\nexit 7`)] } },
    );
    await server.reach((await server.run(failing)).id, "failed");
    expect(living()).toHaveLength(2);
    expect(Bun.spawnSync(["podman", "rm", "--force", "--time", "0", name]).exitCode).toBe(0);
  });
});
