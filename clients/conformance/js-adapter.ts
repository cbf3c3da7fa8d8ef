/** The adapter of the package `slipway-push`, for the conformance cases. It runs on Bun and on Node. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { SlipwayPush } from "../../client/slipway-push.ts";

const { codeUrl, stateFolder, ...options } = JSON.parse(process.argv[2] ?? "{}");
const write = (event: string, value: object) => console.log(JSON.stringify({ event, ...value }));

/** In place of the `sessionStorage` of a browser. */
const sessionStore = {
  getItem: (key: string) => {
    const file = join(stateFolder, encodeURIComponent(key));
    return existsSync(file) ? readFileSync(file, "utf8") : null;
  },
  setItem: (key: string, value: string) => writeFileSync(join(stateFolder, encodeURIComponent(key)), value),
};

const push = new SlipwayPush({
  ...options,
  sessionStore,
  async code() {
    const answer = await fetch(codeUrl, { method: "POST" });
    if (answer.status === 204) return null;
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    return answer.text();
  },
});
push.on("status", ({ retryAt, ...status }) =>
  write("status", { ...status, delayMs: retryAt === null ? null : retryAt - Date.now() }),
);
push.on("open", (opened) => write("open", opened));
push.on("message", (message) => write("message", message));
push.on("joined", (channel) => write("joined", { channel }));
push.on("left", (channel) => write("left", { channel }));
push.on("member", (member) => write("member", member));
push.on("problem", (problem) => write("problem", problem));
push.open();

const commands = createInterface({ input: process.stdin });
commands.on("line", (line) => {
  const { join, leave, send, close } = JSON.parse(line);
  if (send !== undefined) return write("sent", { sent: push.send(send) });
  if (join !== undefined) push.join(join);
  if (leave !== undefined) push.leave(leave);
  if (close) push.close();
  write("done", {});
});
commands.on("close", () => {
  push.close();
  process.exit(0);
});
