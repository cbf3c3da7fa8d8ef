import { Fault } from "../../errors.ts";

/** Refuses a runner where it could not end the processes that a script started. */
export function requireProcessGroups(platform: NodeJS.Platform = process.platform): void {
  if (platform === "win32")
    throw new Fault(
      "invalid",
      "A runner needs process groups, which Windows does not have. Run it on Linux or macOS, and start the server " +
        "on Windows with runner.enabled set to false.",
    );
}
