import { openRouteFolder } from "../../src/runner/route/route-folder.ts";

/** Holds the requests of a project until it is killed. */
const [, , root = "", projectId = ""] = process.argv;
await openRouteFolder(root, Number(projectId)).pause();
console.log("paused");
// It lives until it is killed.
await Bun.sleep(60_000);
