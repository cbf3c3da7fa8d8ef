import { afterEach, describe, expect, test } from "bun:test";
import { type ContainerScene, startContainerScene } from "../support/container-scene.ts";
import { serviceUrl } from "../support/services.ts";

const podman = await serviceUrl("podman");
let scene: ContainerScene | undefined;

afterEach(() => scene?.stop());

describe.skipIf(!podman)("an engine that cannot run containers", () => {
  test("for lack of higher limits names the setting with what the machine allows", async () => {
    const others = (podman ?? "").split(",").filter((each) => !each.startsWith("--ulimit"));
    scene = await startContainerScene([...others, "--ulimit=nofile=2147483584:2147483584"].join(","));
    for (const stage of ["build", "start"] as const) {
      const { state, reason } = await scene.run({ [stage]: "true" });
      expect(state).toBe("failed");
      expect(reason).toMatch(
        /^\w+ failed with exit code 126: .*\(ulimit\).* set runner\.engineArguments of the runner to --ulimit=nofile=\d+:\d+,--ulimit=nproc=\d+:\d+$/,
      );
    }
  });

  test("for lack of its runtime names the runtime and the setting", async () => {
    scene = await startContainerScene("--pull=never,--runtime=no-such-runtime");
    const { state, reason } = await scene.run({ build: "true" });
    expect([state, reason]).toEqual([
      "failed",
      "build failed with exit code 125: the container runtime no-such-runtime is not installed on the runner; install it, or name another one in runner.engineArguments, such as --runtime=runc",
    ]);
  });
});
