/**
 * The service of a release: answers with its commit. Its arguments are the record file, a name by which the suite finds its
 * process, the port (`-`: `$PORT`) and the kind of its commit.
 */
import { appendFileSync, existsSync } from "node:fs";
import { dirname } from "node:path";

const [recordFile = "", , port = "-", kind = "version"] = process.argv.slice(2);
const { CI_COMMIT, CI_PROJECT_ID, CI_TASK_ID, CI_ATTEMPT, CI_ROLLBACK, PORT } = process.env;

if (kind === "broken") throw new Error("this commit does not start");

Bun.serve({
  hostname: "127.0.0.1",
  port: Number(port === "-" ? PORT : port),
  fetch: () => new Response(CI_COMMIT, { headers: { connection: "close" } }),
});
process.on("SIGTERM", () => {
  const fields = [
    "stopping",
    CI_PROJECT_ID,
    CI_TASK_ID,
    CI_ATTEMPT,
    "service",
    CI_COMMIT,
    CI_ROLLBACK ?? false,
  ];
  appendFileSync(recordFile, `${fields.join(" ")}\n`);
  // As a service that answers its last requests, within the stop grace of the suite.
  setTimeout(() => process.exit(0), 250);
});
// A suite that was killed has left its folder, or nothing.
setInterval(() => existsSync(dirname(recordFile)) || process.exit(0), 5_000);
