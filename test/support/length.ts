/** The short form in the daily run, the long one under `npm run test:full`. */
export function pick<T>(short: T, full: T): T {
  return process.env.SLIPWAY_TEST_FULL === "1" ? full : short;
}
