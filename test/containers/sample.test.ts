import { afterEach, describe, expect, test } from "bun:test";
import type { Config } from "../../src/config/config.ts";
import { type DeployServer, startDeployServer } from "../support/deploy-server.ts";
import { testImage } from "../support/podman.ts";
import { serviceUrl } from "../support/services.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { makeTestUser } from "../support/test-user.ts";

const [podman, bwrap] = [await serviceUrl("podman"), await serviceUrl("bwrap")];
const user = await makeTestUser();
let server: DeployServer;
let root: string;
afterEach(async () => {
  await server.stop();
  server.remove();
});

async function trySample(settings: Partial<Config>): Promise<void> {
  root = temporaryFolder("work");
  server = await startDeployServer({ "runner.dir": root, ...settings });
  const { taskId } = await server.admin.expect<{ taskId: number }>(201, "POST", "/api/samples");
  expect((await server.reach(taskId)).state).toBe("success");
}

describe("the sample project works on a runner that isolates scripts", () => {
  test.skipIf(!user)("by another user alone", () =>
    trySample({ "runner.user": user?.name ?? "", "runner.engine": "none" }),
  );

  test.skipIf(!bwrap)("by sandboxes", () =>
    trySample({ "runner.isolation": "sandbox", "runner.engine": "none" }),
  );

  test.skipIf(!podman)("by containers", () =>
    trySample({
      "runner.engine": "podman",
      "runner.engineArguments": (podman ?? "").split(","),
      "runner.image": testImage,
    }),
  );
});
