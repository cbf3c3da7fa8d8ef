import { test } from "bun:test";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../support/free-port.ts";
import { walkAsNewcomer } from "../support/newcomer-walk.ts";
import { endScriptsIn } from "../support/process-watch.ts";
import { executableName, releaseFolder } from "../support/release-folder.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const release = await releaseFolder();

test("the steps of README.md work with the executable in a folder that has nothing else", async () => {
  const folder = temporaryFolder("newcomer");
  const slipway = join(folder, "slipway");
  copyFileSync(join(release, executableName), slipway);
  const port = String(freePort());
  await walkAsNewcomer({
    server: [slipway, "start"],
    command: [slipway],
    url: `http://127.0.0.1:${port}`,
    env: { PATH: process.env.PATH ?? "", HOME: folder, PORT: port, SLIPWAY_DATA_DIR: join(folder, "data") },
  });
  endScriptsIn(folder);
});
