import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { hasDocker, inDocker } from "./docker.ts";
import { freePort } from "./free-port.ts";
import { installPackages, run, ServiceUnavailable } from "./service-install.ts";
import { answers, endWithUs, launch, type RunningService, serviceFolder } from "./service-process.ts";

const wayToGetIt =
  "RabbitMQ is not installed: install the package `rabbitmq-server`, start Docker, or set SLIPWAY_TEST_AMQP_URL.";

const protocolHeader = new Uint8Array([0x41, 0x4d, 0x51, 0x50, 0, 0, 9, 1]);

export interface RunningRabbitmq extends RunningService {
  /** Runs `rabbitmqctl`. */
  control(...command: string[]): Promise<void>;
}

/** Above what the broker uses and below it: the second raises the alarm that blocks publishers. */
export const memoryLimits = { ease: "0.9", alarm: "0.000001" };

/** A RabbitMQ node for tests: the installed program, else the Debian package, else a container. */
export async function startRabbitmq(...settings: string[]): Promise<RunningRabbitmq> {
  const port = freePort();
  const url = `amqp://guest:guest@127.0.0.1:${port}`;
  const isReady = () => answers(port, protocolHeader);
  const server = findServer() ?? ((await installPackages("rabbitmq-server")) ? findServer() : undefined);
  if (server) return startInstalled(server, port, url, isReady, settings);
  if (!(await hasDocker())) throw new ServiceUnavailable(wayToGetIt);
  const name = `slipway-rabbitmq-${port}`;
  const options = ["--hostname", name, "-v", `${name}:/var/lib/rabbitmq`, "-p", `127.0.0.1:${port}:5672`];
  const service = await launch({
    name: "RabbitMQ",
    url,
    folder: serviceFolder("rabbitmq"),
    isReady,
    ...inDocker({ name, image: "rabbitmq:4", options }),
  });
  return Object.assign(service, { control: controlWith(["docker", "exec", name, "rabbitmqctl"]) });
}

function controlWith(program: string[], env: Record<string, string> = {}) {
  return async (...command: string[]) => {
    if (!(await run([...program, ...command], { env }))) throw new Error(`rabbitmqctl ${command[0]} failed.`);
  };
}

/** The script itself: the wrapper in /usr/sbin changes the user and drops the environment. */
function findServer(): string | undefined {
  const debian = "/usr/lib/rabbitmq/bin/rabbitmq-server";
  return existsSync(debian) ? debian : (Bun.which("rabbitmq-server") ?? undefined);
}

async function startInstalled(
  server: string,
  port: number,
  url: string,
  isReady: () => Promise<boolean>,
  settings: string[],
): Promise<RunningRabbitmq> {
  const folder = serviceFolder("rabbitmq");
  const [epmdPort, distributionPort] = [freePort(), freePort()];
  await Bun.write(
    join(folder, "rabbitmq.conf"),
    [
      `listeners.tcp.1 = 127.0.0.1:${port}`,
      "log.file = false",
      "log.console = true",
      "log.console.level = warning",
      // Low, so that several brokers on a small machine do not block their publishers.
      "disk_free_limit.absolute = 50MB",
      ...settings,
      "",
    ].join("\n"),
  );
  await Bun.write(join(folder, "enabled_plugins"), "[].\n");
  // A separate name server of Erlang: the shared one would remain as a daemon.
  const epmd = Bun.spawn([...endWithUs(), "epmd", "-address", "127.0.0.1", "-port", String(epmdPort)], {
    stdin: "ignore",
    stdout: "ignore",
    stderr: "ignore",
    detached: true,
  });
  epmd.unref();
  const env = {
    // Erlang creates its cookie there.
    HOME: folder,
    ERL_EPMD_PORT: String(epmdPort),
    RABBITMQ_NODENAME: `slipway-${port}@localhost`,
    RABBITMQ_CONF_ENV_FILE: join(folder, "none"),
  };
  const service = await launch({
    name: "RabbitMQ",
    url,
    folder,
    command: [server],
    isReady,
    onStop: () => epmd.kill("SIGKILL"),
    env: {
      ...env,
      RABBITMQ_DIST_PORT: String(distributionPort),
      RABBITMQ_NODE_PORT: String(port),
      RABBITMQ_CONFIG_FILE: join(folder, "rabbitmq.conf"),
      RABBITMQ_ENABLED_PLUGINS_FILE: join(folder, "enabled_plugins"),
      RABBITMQ_MNESIA_BASE: join(folder, "mnesia"),
      RABBITMQ_LOG_BASE: join(folder, "log"),
      RABBITMQ_FEATURE_FLAGS_FILE: join(folder, "feature_flags"),
      // With "input allowed" the script replaces itself with the broker, so that a signal to the child reaches the
      // broker. No input is read.
      RABBITMQ_ALLOW_INPUT: "true",
      RABBITMQ_SERVER_START_ARGS: "-noinput",
    },
  });
  return Object.assign(service, { control: controlWith([join(dirname(server), "rabbitmqctl")], env) });
}
