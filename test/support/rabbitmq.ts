import { existsSync, rmSync, writeFileSync } from "node:fs";
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
  /** The same; returns its output. */
  ask(...command: string[]): Promise<string>;
}

/** Above what the broker uses and below it: the second raises the alarm that blocks publishers. */
export const memoryLimits = { ease: "0.9", alarm: "0.000001" };

/** A RabbitMQ node for tests: the installed program, else the Debian package, else a container. */
export async function startRabbitmq(...settings: string[]): Promise<RunningRabbitmq> {
  const port = freePort();
  const url = `amqp://guest:guest@127.0.0.1:${port}`;
  const isReady = () => answers(port, protocolHeader);
  const server = findServer() ?? ((await installPackages("rabbitmq-server")) ? findServer() : undefined);
  if (server) {
    const erlang = startErlang(serviceFolder("rabbitmq-home"));
    return startNode(server, port, erlang, settings, erlang.stop);
  }
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
  return Object.assign(service, controlWith(["docker", "exec", name, "rabbitmqctl"]));
}

function controlWith(program: string[], env: Record<string, string> = {}) {
  return {
    async control(...command: string[]) {
      if (!(await run([...program, ...command], { env })))
        throw new Error(`rabbitmqctl ${command[0]} failed.`);
    },
    async ask(...command: string[]) {
      const { stdout, exitCode } = await Bun.$`${[...program, ...command]}`
        .env({ ...process.env, ...env })
        .quiet()
        .nothrow();
      if (exitCode !== 0) throw new Error(`rabbitmqctl ${command.join(" ")} failed.`);
      return stdout.toString();
    },
  };
}

/** The script itself: the wrapper in /usr/sbin changes the user and drops the environment. */
function findServer(): string | undefined {
  const debian = "/usr/lib/rabbitmq/bin/rabbitmq-server";
  return existsSync(debian) ? debian : (Bun.which("rabbitmq-server") ?? undefined);
}

/** Three nodes as one cluster, and what an operator sees of a stream. */
export interface RabbitmqCluster {
  /** With the addresses of all nodes. */
  url: string;
  nodes: RunningRabbitmq[];
  /** Places in `nodes`: of the leader, and of all replicas. */
  streamNodes(queue: string): Promise<{ leader: number; members: number[] }>;
  stop(): Promise<void>;
}

export async function startRabbitmqCluster(): Promise<RabbitmqCluster> {
  const server = findServer();
  if (!server) throw new ServiceUnavailable("A cluster needs the package `rabbitmq-server`.");
  const ports = Array.from({ length: 3 }, () => freePort());
  const names = ports.map(nodeName);
  const peers = names.map((name, index) => `cluster_formation.classic_config.nodes.${index + 1} = ${name}`);
  const settings = ["cluster_formation.peer_discovery_backend = classic_config", ...peers];
  const erlang = startErlang(serviceFolder("rabbitmq-cluster"));
  const nodes: RunningRabbitmq[] = [];
  // One after the other: the first founds the cluster.
  for (const port of ports) nodes.push(await startNode(server, port, erlang, settings));
  const hosts = ports.map((port) => `127.0.0.1:${port}`).join(",");
  return {
    url: `amqp://guest:guest@${hosts}`,
    nodes,
    async streamNodes(queue) {
      const query = ["-q", "--formatter", "json", "list_queues", "name", "leader", "members"];
      // A node that was killed does not answer.
      const listed = await Promise.any(nodes.map(({ ask }) => ask(...query)));
      const found = (JSON.parse(listed) as { name: string; leader: string; members: string[] }[]).find(
        ({ name }) => name === queue,
      );
      return {
        leader: names.indexOf(found?.leader ?? ""),
        members: (found?.members ?? []).map((name) => names.indexOf(name)).sort(),
      };
    },
    async stop() {
      await Promise.all(nodes.map((node) => node.stop()));
      erlang.stop();
    },
  };
}

/** The name server and the cookie of the nodes that may know each other. */
function startErlang(home: string) {
  const epmdPort = freePort();
  writeFileSync(join(home, ".erlang.cookie"), "slipway-test", { mode: 0o400 });
  // A separate name server: the shared one would remain as a daemon.
  const epmd = Bun.spawn([...endWithUs(), "epmd", "-address", "127.0.0.1", "-port", String(epmdPort)], {
    stdin: "ignore",
    stdout: "ignore",
    stderr: "ignore",
    detached: true,
  });
  epmd.unref();
  return {
    env: { HOME: home, ERL_EPMD_PORT: String(epmdPort) },
    stop() {
      epmd.kill("SIGKILL");
      rmSync(home, { recursive: true, force: true });
    },
  };
}

const nodeName = (port: number) => `slipway-${port}@localhost`;

async function startNode(
  server: string,
  port: number,
  erlang: ReturnType<typeof startErlang>,
  settings: string[],
  onStop = () => {},
): Promise<RunningRabbitmq> {
  const folder = serviceFolder("rabbitmq");
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
  const env = {
    ...erlang.env,
    RABBITMQ_NODENAME: nodeName(port),
    RABBITMQ_CONF_ENV_FILE: join(folder, "none"),
  };
  const service = await launch({
    name: "RabbitMQ",
    url: `amqp://guest:guest@127.0.0.1:${port}`,
    folder,
    command: [server],
    isReady: () => answers(port, protocolHeader),
    onStop,
    env: {
      ...env,
      RABBITMQ_DIST_PORT: String(freePort()),
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
  return Object.assign(service, controlWith([join(dirname(server), "rabbitmqctl")], env));
}
