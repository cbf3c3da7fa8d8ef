import { join } from "node:path";
import { describeBehindProxies } from "../support/behind-proxies.ts";
import { executableName, releaseFolder } from "../support/release-folder.ts";
import { startServerProcess } from "../support/server-process.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const executable = join(await releaseFolder(), executableName);

describeBehindProxies(async (baseUrl) => {
  const settings = {
    "server-base-url": baseUrl,
    "server-trusted-proxies": "127.0.0.1/32",
    "runner-enabled": "false",
    "log-level": "debug",
  };
  const server = await startServerProcess(temporaryFolder("behind-proxy"), settings, [], {}, [executable]);
  return {
    upstream: new URL(server.url).host,
    admin: server.admin,
    log: server.output,
    stop: () => server.end("SIGTERM"),
  };
});
