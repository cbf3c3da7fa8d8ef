import { originalEnvironment } from "../direct-hosts.ts";
import { messageOf } from "../errors.ts";
import { restartCommand } from "../own-command.ts";
import { replaceProcess } from "./replace-process.ts";

/** The runtime reads it when it starts, and at no other time. */
const variable = "BUN_CONFIG_MAX_HTTP_REQUESTS";

/** More than the verifications that wait at most (`maxPendingVerifications`), for calls to other services. */
const clientConnections = "2000";

/**
 * The runtime opens at most 256 client connections at once, too few for verify-uri, unless a variable says otherwise when it
 * starts. A server that was started without the variable therefore becomes a process that was started with it.
 */
export async function allowClientConnections(): Promise<void> {
  if (process.env[variable]) return;
  const env = { ...originalEnvironment(), [variable]: clientConnections };
  const fault = await replaceProcess(restartCommand(), env).catch(messageOf);
  process.stderr.write(
    `At most 256 codes are verified at a time, because this process could not restart itself: ${fault}. ` +
      `Start it with ${variable}=${clientConnections} in its environment.\n`,
  );
}
