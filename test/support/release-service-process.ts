/**
 * The service of a release: answers with its commit. Its arguments are the record file, a name by which the suite finds its
 * process, and the kind of its commit. It runs by Node, which sandboxes show.
 */
import { appendFileSync, existsSync } from "node:fs";
import { createServer } from "node:http";
import { dirname } from "node:path";

const [recordFile = "", , kind = "version"] = process.argv.slice(2);
const { CI_COMMIT, CI_PROJECT_ID, CI_TASK_ID, CI_ATTEMPT, CI_ROLLBACK, PORT } = process.env;

function record(event: string): void {
  const fields = [event, CI_PROJECT_ID, CI_TASK_ID, CI_ATTEMPT, "service", CI_COMMIT, CI_ROLLBACK ?? false];
  appendFileSync(recordFile, `${fields.join(" ")}\n`);
}

if (kind === "broken") throw new Error("this commit does not start");

createServer((_request, response) => {
  response.setHeader("connection", "close");
  response.end(CI_COMMIT);
}).listen(Number(PORT), "127.0.0.1", () => record("serving"));
process.on("SIGTERM", () => {
  record("stopping");
  // As a service that answers its last requests, within the stop grace of the suite.
  setTimeout(() => process.exit(0), 250);
});
// A suite that was killed has left its folder, or nothing.
setInterval(() => existsSync(dirname(recordFile)) || process.exit(0), 5_000);
