/**
 * Starts the services that the tests need and keeps them running until Ctrl-C:
 *
 *   npm run services                 all of them; prints the variables that name them
 *   npm run services postgres amqp   only these
 */
import { parseArgs } from "node:util";
import { progress } from "../test/support/service-install.ts";
import { stopAllNow } from "../test/support/service-process.ts";
import { provide, type ServiceName, serviceNames, variablesOf } from "../test/support/services.ts";

const { positionals } = parseArgs({ allowPositionals: true });
const unknown = positionals.filter((name) => !serviceNames.some((known) => known === name));
if (unknown.length > 0) {
  console.error(`There is no service ${unknown.join(", ")}; known are ${serviceNames.join(", ")}.`);
  process.exit(2);
}

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(signal, () => {
    stopAllNow();
    process.exit(0);
  });
}

const wanted = positionals.length > 0 ? (positionals as ServiceName[]) : serviceNames;
progress(`starting ${wanted.join(", ")}`);
const found = await Promise.all(
  wanted.map(async (name) => {
    const state = await provide(name);
    progress("value" in state ? `${name} is ready` : `${name} is missing: ${state.missing}`);
    return state;
  }),
);
for (const [variable, value] of Object.entries(variablesOf(found)))
  console.log(`export ${variable}=${Bun.$.escape(value)}`);
progress("running until Ctrl-C; paste the lines above into the shell that runs tests");
// A timer keeps the process, and with it the services, alive.
setInterval(() => {}, 1 << 30);
