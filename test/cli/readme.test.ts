import { test } from "bun:test";
import { join } from "node:path";
import { freePort } from "../support/free-port.ts";
import { walkAsNewcomer } from "../support/newcomer-walk.ts";
import { endScriptsIn } from "../support/process-watch.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const slipway = join(import.meta.dir, "../../bin/slipway");

test("the steps of README.md work with the sources, and answer as documented", async () => {
  const folder = temporaryFolder("readme");
  const port = String(freePort());
  await walkAsNewcomer({
    server: [slipway, "start"],
    command: [slipway],
    url: `http://127.0.0.1:${port}`,
    env: { PATH: process.env.PATH ?? "", HOME: folder, PORT: port, SLIPWAY_DATA_DIR: join(folder, "data") },
  });
  endScriptsIn(folder);
});
