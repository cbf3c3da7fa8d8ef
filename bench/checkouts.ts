import { resolve } from "node:path";

export interface Checkout {
  name: string;
  root: string;
}

/** This checkout, and the earlier checkout of `--before`, whose packages must be installed. */
export function checkouts(): Checkout[] {
  const before = process.env.BENCH_BEFORE;
  const here = { name: "Slipway", root: resolve(import.meta.dir, "..") };
  return before === undefined ? [here] : [here, { name: "Slipway, before", root: resolve(before) }];
}
