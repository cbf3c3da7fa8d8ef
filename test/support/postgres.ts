import { chownSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { hasDocker, inDocker } from "./docker.ts";
import { freePort } from "./free-port.ts";
import { installPackages, progress, run, ServiceUnavailable } from "./service-install.ts";
import { launch, type RunningService, serviceFolder } from "./service-process.ts";

const wayToGetIt =
  "PostgreSQL is not installed: install the package `postgresql`, start Docker, or set SLIPWAY_TEST_POSTGRES_URL.";

/** Starts a separate PostgreSQL: the installed one, Debian's package or a container. */
export async function startPostgres(): Promise<RunningService> {
  const port = freePort();
  const url = `postgres://slipway:slipway@127.0.0.1:${port}/postgres`;
  const binaries = findBinaries() ?? ((await installPackages("postgresql")) ? findBinaries() : undefined);
  if (binaries) return startInstalled(binaries, port, url);
  if (!(await hasDocker())) throw new ServiceUnavailable(wayToGetIt);
  return launch({
    name: "PostgreSQL",
    url,
    folder: serviceFolder("postgres"),
    isReady: () => canQuery(url),
    ...inDocker({
      name: `slipway-postgres-${port}`,
      image: "postgres:17",
      options: [
        "-e",
        "POSTGRES_USER=slipway",
        "-e",
        "POSTGRES_PASSWORD=slipway",
        "-e",
        "POSTGRES_DB=postgres",
      ].concat(["-v", `slipway-postgres-${port}:/var/lib/postgresql/data`, "-p", `127.0.0.1:${port}:5432`]),
    }),
  });
}

async function startInstalled(binaries: string, port: number, url: string): Promise<RunningService> {
  const folder = serviceFolder("postgres");
  const user = unprivilegedUser();
  if (user) chownSync(folder, user.uid, user.gid);
  const data = join(folder, "data");
  const passwordFile = join(folder, "password");
  await Bun.write(passwordFile, "slipway\n");
  if (user) chownSync(passwordFile, user.uid, user.gid);
  const isMade = await run(
    [join(binaries, "initdb"), "--pgdata", data, "--username", "slipway", "--pwfile", passwordFile].concat([
      "--auth",
      "scram-sha-256",
      "--encoding",
      "UTF8",
      "--locale",
      "C",
      "--no-sync",
    ]),
    { cwd: folder, ...user },
  );
  if (!isMade) throw new ServiceUnavailable("PostgreSQL's initdb failed; its message stands above.");
  const settings = {
    port,
    listen_addresses: "127.0.0.1",
    unix_socket_directories: folder,
    max_connections: 200,
    shared_buffers: "64MB",
    // Durable as in production: tests kill it and look for every acknowledged row.
    fsync: "on",
  };
  return launch({
    name: "PostgreSQL",
    url,
    folder,
    ...(user ? { user } : {}),
    command: [join(binaries, "postgres"), "-D", data].concat(
      Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]),
    ),
    isReady: () => canQuery(url),
    // Immediate shutdown: SIGKILL would leave its shared memory behind.
    stopSignal: "SIGQUIT",
  });
}

async function canQuery(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
  client.on("error", () => {});
  try {
    await client.connect();
    await client.query("select 1");
    return true;
  } finally {
    await client.end().catch(() => {});
  }
}

/** The newest of Debian's versions, which are not on the PATH, else what is there. */
function findBinaries(): string | undefined {
  const debian = "/usr/lib/postgresql";
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : [];
  const folders = versions.map((version) => join(debian, version, "bin"));
  const onPath = Bun.which("initdb");
  if (onPath) folders.push(join(onPath, ".."));
  return folders.find((folder) => existsSync(join(folder, "initdb")) && existsSync(join(folder, "postgres")));
}

/** PostgreSQL refuses to run as root. */
function unprivilegedUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const users = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .map((line) => line.split(":"));
  const user = users.find(([name]) => name === "postgres") ?? users.find(([name]) => name === "nobody");
  if (!user) progress("there is no user `postgres` or `nobody` to run PostgreSQL as");
  return user ? { uid: Number(user[2]), gid: Number(user[3]) } : undefined;
}
