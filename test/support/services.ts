import { findArm64 } from "./arm64.ts";
import { findCaddy } from "./caddy.ts";
import { findChromium } from "./chromium.ts";
import { findDex } from "./dex.ts";
import { findFirefox } from "./firefox.ts";
import { findGitea } from "./gitea.ts";
import { findHelm } from "./helm.ts";
import { startKafka } from "./kafka.ts";
import { findPebble } from "./pebble.ts";
import { findPodman } from "./podman.ts";
import { startPostgres } from "./postgres.ts";
import { startRabbitmq } from "./rabbitmq.ts";
import { findHaproxy, findNginx } from "./reverse-proxies.ts";
import { findS3Server } from "./s3-server.ts";
import { findExecutable, ServiceUnavailable } from "./service-install.ts";
import { findSshd } from "./sshd.ts";

/**
 * The services that tests need. A value is a URL; for the browsers, sshd, the proxies, the compilers and Helm it is the path
 * of the executable, for podman the arguments of `podman run`, for arm64 the command that runs a program of that kind.
 */
const services = {
  postgres: { variable: "SLIPWAY_TEST_POSTGRES_URL", start: async () => (await startPostgres()).url },
  amqp: { variable: "SLIPWAY_TEST_AMQP_URL", start: async () => (await startRabbitmq()).url },
  kafka: { variable: "SLIPWAY_TEST_KAFKA_URL", start: async () => (await startKafka()).url },
  chromium: { variable: "SLIPWAY_TEST_CHROMIUM", start: findChromium },
  firefox: { variable: "SLIPWAY_TEST_FIREFOX", start: findFirefox },
  sshd: { variable: "SLIPWAY_TEST_SSHD", start: findSshd },
  nginx: { variable: "SLIPWAY_TEST_NGINX", start: findNginx },
  haproxy: { variable: "SLIPWAY_TEST_HAPROXY", start: findHaproxy },
  caddy: { variable: "SLIPWAY_TEST_CADDY", start: findCaddy },
  pebble: { variable: "SLIPWAY_TEST_PEBBLE", start: findPebble },
  s3: { variable: "SLIPWAY_TEST_S3", start: findS3Server },
  gitea: { variable: "SLIPWAY_TEST_GITEA", start: findGitea },
  dex: { variable: "SLIPWAY_TEST_DEX", start: findDex },
  python: {
    variable: "SLIPWAY_TEST_PYTHON",
    start: () => findExecutable("python3", "python3", "SLIPWAY_TEST_PYTHON"),
  },
  javac: {
    variable: "SLIPWAY_TEST_JAVAC",
    start: () => findExecutable("javac", "default-jdk-headless", "SLIPWAY_TEST_JAVAC"),
  },
  maven: {
    variable: "SLIPWAY_TEST_MAVEN",
    start: () => findExecutable("mvn", "maven", "SLIPWAY_TEST_MAVEN"),
  },
  arm64: { variable: "SLIPWAY_TEST_ARM64", start: findArm64 },
  helm: { variable: "SLIPWAY_TEST_HELM", start: findHelm },
  podman: { variable: "SLIPWAY_TEST_PODMAN", start: findPodman },
  bwrap: {
    variable: "SLIPWAY_TEST_BWRAP",
    start: () => findExecutable("bwrap", "bubblewrap", "SLIPWAY_TEST_BWRAP"),
  },
} satisfies Record<string, { variable: string; start: () => Promise<string> }>;

export type ServiceName = keyof typeof services;
export const serviceNames = Object.keys(services) as ServiceName[];

/** Value of a variable: the run has already found that the service is not available. */
const notToBeHad = "unavailable";

export type ServiceState =
  | { name: ServiceName; variable: string; value: string; origin: "given" | "started" }
  | { name: ServiceName; variable: string; missing: string };

const states = new Map<ServiceName, Promise<ServiceState>>();

/** Uses what the variable names, else starts or installs the service. It ends with this process. */
export function provide(name: ServiceName): Promise<ServiceState> {
  const known = states.get(name);
  if (known) return known;
  const state = makeAvailable(name);
  states.set(name, state);
  return state;
}

async function makeAvailable(name: ServiceName): Promise<ServiceState> {
  const { variable, start } = services[name];
  const given = process.env[variable];
  if (given === notToBeHad) return { name, variable, missing: "see the start of the test run" };
  if (given) return { name, variable, value: given, origin: "given" };
  try {
    return { name, variable, value: await start(), origin: "started" };
  } catch (error) {
    if (error instanceof ServiceUnavailable) return { name, variable, missing: error.message };
    throw error;
  }
}

/**
 * For tests: `const url = await serviceUrl("postgres"); describe.skipIf(!url)(…)`. Undefined if the service is not
 * available; under CI that is an error, because no test may be skipped there.
 */
export async function serviceUrl(name: ServiceName): Promise<string | undefined> {
  const state = await provide(name);
  if ("value" in state) return state.value;
  if (process.env.CI) throw new Error(`${name} is not available: ${state.missing}`);
  return undefined;
}

/** The variables that hand these services to another process. */
export function variablesOf(found: ServiceState[]): Record<string, string> {
  return Object.fromEntries(
    found.map((state) => [state.variable, "value" in state ? state.value : notToBeHad]),
  );
}
