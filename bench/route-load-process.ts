import { type LoadTarget, startLoad } from "../test/support/request-load.ts";

/** Sends requests to a proxy, in a process of its own so that what deploys does not slow it down; prints the result. */
const { target, perSecond, requests } = JSON.parse(process.argv[2] ?? "{}") as {
  target: LoadTarget;
  perSecond: number;
  requests: number;
};
const load = startLoad(target, perSecond);
while (load.sent() < requests) await Bun.sleep(20);
console.log(JSON.stringify(await load.end()));
process.exit(0);
