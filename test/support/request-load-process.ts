import { type LoadTarget, startLoad } from "./request-load.ts";

/** Sends requests to a proxy until its input ends, in a process of its own so that nothing else slows it down; prints the result. */
const { target, perSecond } = JSON.parse(process.argv[2] ?? "{}") as {
  target: LoadTarget;
  perSecond: number;
};
const load = startLoad(target, perSecond);
await Bun.stdin.text();
console.log(JSON.stringify(await load.end()));
process.exit(0);
