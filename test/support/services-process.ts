import { openScriptExecution, openSilentServices, silentProgress } from "./keeper-scene.ts";

/** A runner of its own, which tests kill: it resumes, deploys releases one after the other, and says what has happened. */
const { root, kind, releases, proxy } = JSON.parse(process.argv[2] ?? "{}");
const services = await openSilentServices(root, await openScriptExecution(root, kind), proxy);
await services.resume();
console.log("resumed");
for (const release of releases) {
  const { state } = await services.deploy(release, silentProgress, new AbortController().signal);
  console.log(state);
}
// It lives until it is killed.
await Bun.sleep(60_000);
