import { existsSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { freePort } from "../../test/support/free-port.ts";
import { installPackages } from "../../test/support/service-install.ts";
import { messageMark, type PeerDialect } from "../peer-load.ts";
import { type PeerServer, startPeer } from "./peer-process.ts";

/** Starts a server whose program was found. */
export interface Peer {
  name: string;
  start(): Promise<PeerServer>;
}

const root = resolve(import.meta.dir, "../..");
const dataBytes = 100;
const message = messageMark + "x".repeat(dataBytes - messageMark.length);

/** So that `bin/slipway` runs the built program, as it does after the first start. */
export function buildProgram(folder = root): void {
  Bun.spawnSync([process.execPath, join(folder, "scripts/build-program.ts")], { cwd: folder });
}

/** Slipway and the bare Bun server, and whichever of the others this machine has. */
export async function findPeers(verifyUri: string): Promise<Peer[]> {
  const nchan = await findNchan();
  const centrifugo = centrifugoCommand();
  const anycable = findProgram("anycable-go");
  const nats = findProgram("nats-server");
  return [
    { name: "Slipway", start: () => startSlipway(verifyUri) },
    { name: "Bun, bare", start: startBareBun },
    ...(nchan ? [{ name: "nchan (nginx)", start: () => startNchan(nchan) }] : []),
    ...(centrifugo ? [{ name: "Centrifugo", start: () => startCentrifugo(centrifugo) }] : []),
    ...(anycable ? [{ name: "AnyCable", start: () => startAnycable(anycable) }] : []),
    ...(nats ? [{ name: "NATS", start: () => startNats(nats) }] : []),
  ];
}

/** Slipway and Centrifugo, if it is there, admitting connections by this token. */
export function findTokenPeers(secret: string, token: string): Peer[] {
  const slipway = { settings: { SLIPWAY_PUSH_JWT_SECRETS: secret }, path: `/ws?code=${token}` };
  const centrifugo = centrifugoCommand({ insecure: false, token: { hmac_secret_key: secret } });
  const hello = JSON.stringify({ id: 1, connect: { token } });
  return [
    { name: "Slipway", start: () => startSlipway("http://127.0.0.1:9/unused", slipway) },
    ...(centrifugo ? [{ name: "Centrifugo", start: () => startCentrifugo(centrifugo, { hello }) }] : []),
  ];
}

/** Slipway and Centrifugo, if it is there, sending one text to each of these users. */
export function findListPeers(verifyUri: string, users: string[]): Peer[] {
  const batch = { users, targetType: "user", data: message };
  const slipway: Variant = { publish: ["/feign/publishBatch", batch] };
  const hello = '{"id":1,"connect":{}}\n{"id":2,"subscribe":{"channel":"user{n}"}}';
  const broadcast: Variant = { hello, publish: ["/api/broadcast", { channels: users, data: message }] };
  const centrifugo = centrifugoCommand();
  return [
    { name: "Slipway", start: () => startSlipway(verifyUri, slipway) },
    ...(centrifugo ? [{ name: "Centrifugo", start: () => startCentrifugo(centrifugo, broadcast) }] : []),
  ];
}

/** `BENCH_NATS_SERVER=/path` or the program on the PATH. */
export function findProgram(program: string): string | null {
  return process.env[`BENCH_${program.toUpperCase().replaceAll("-", "_")}`] ?? Bun.which(program);
}

const nchanModule = () =>
  process.env.BENCH_NCHAN_MODULE ??
  ["/usr/lib/nginx/modules", "/usr/share/nginx/modules"]
    .map((folder) => join(folder, "ngx_nchan_module.so"))
    .find((path) => existsSync(path));

async function findNchan(): Promise<{ nginx: string; module: string } | null> {
  const nginx = () => Bun.which("nginx") ?? ["/usr/sbin/nginx"].find((path) => existsSync(path));
  if (nginx() === undefined || nchanModule() === undefined)
    await installPackages("nginx-light", "libnginx-mod-nchan");
  const [program, module] = [nginx(), nchanModule()];
  return program !== undefined && module !== undefined ? { nginx: program, module } : null;
}

const newFolder = () => mkdtempSync(join(tmpdir(), "slipway-bench-"));
const published = JSON.stringify({ targetType: "all", target: "", data: message });

/** What a comparison changes of a server's settings and dialect. */
interface Variant {
  settings?: object;
  path?: string;
  hello?: string;
  /** Path and body of a publish. */
  publish?: [path: string, body: object];
}

function startSlipway(verifyUri: string, { settings, path, publish }: Variant = {}): Promise<PeerServer> {
  const [port, folder] = [freePort(), newFolder()];
  return startPeer({
    name: "Slipway",
    command: [join(root, "bin/slipway"), "push"],
    port,
    folder,
    env: {
      SLIPWAY_SERVER_LISTEN: `127.0.0.1:${port}`,
      SLIPWAY_DATA_DIR: folder,
      SLIPWAY_PUSH_VERIFY_URI: verifyUri,
      SLIPWAY_PUSH_CONNECT_RATE: "1000000",
      SLIPWAY_PUSH_PING_INTERVAL: "20m",
      SLIPWAY_PUSH_PONG_TIMEOUT: "30m",
      ...settings,
    },
    dialect: {
      path: path ?? "/ws?code=user{n}",
      hello: null,
      welcome: null,
      publish: publish
        ? post(port, publish[0], JSON.stringify(publish[1]))
        : post(port, "/feign/publish", published),
    },
  });
}

function startBareBun(): Promise<PeerServer> {
  const port = freePort();
  return startPeer({
    name: "Bun, bare",
    command: [process.execPath, join(root, "bench/peers/bare-bun.ts")],
    port,
    folder: newFolder(),
    env: { PORT: String(port) },
    dialect: {
      path: "/ws?code=user{n}",
      hello: null,
      welcome: null,
      publish: post(port, "/feign/publish", published),
    },
  });
}

function startNchan({ nginx, module }: { nginx: string; module: string }): Promise<PeerServer> {
  const [port, folder] = [freePort(), newFolder()];
  const config = join(folder, "nginx.conf");
  writeFileSync(
    config,
    `load_module ${module};
daemon off; worker_processes 1; pid ${folder}/pid; error_log ${folder}/error.log crit;
events { worker_connections 40000; }
http {
  access_log off; keepalive_requests 1000000; nchan_shared_memory_size 256M;
  client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy; fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi; scgi_temp_path ${folder}/scgi;
  server {
    listen 127.0.0.1:${port} backlog=4096;
    location = /sub { nchan_subscriber websocket; nchan_channel_id bench; nchan_subscriber_first_message newest; }
    location = /pub { nchan_publisher; nchan_channel_id bench; nchan_message_buffer_length 10000; nchan_message_timeout 5s; }
  }
}
`,
  );
  return startPeer({
    name: "nchan (nginx)",
    command: [nginx, "-p", folder, "-c", config],
    port,
    folder,
    dialect: {
      path: "/sub",
      hello: null,
      welcome: null,
      publish: post(port, "/pub", message, "text/plain"),
    },
  });
}

/** Null: it is not on this machine. */
export function centrifugoCommand(client: object = {}): ((port: number, folder: string) => string[]) | null {
  const program = findProgram("centrifugo");
  if (program === null) return null;
  return (port, folder) => {
    const config = join(folder, "config.json");
    writeFileSync(
      config,
      JSON.stringify({
        http_server: { address: "127.0.0.1", port: String(port) },
        client: {
          insecure: true,
          allowed_origins: ["*"],
          ping_interval: "20m",
          pong_timeout: "10m",
          ...client,
        },
        http_api: { insecure: true },
        channel: { without_namespace: { allow_subscribe_for_client: true } },
        log: { level: "error" },
      }),
    );
    return [program, "--config", config];
  };
}

function startCentrifugo(
  commandOf: (port: number, folder: string) => string[],
  { hello, publish }: Variant = {},
): Promise<PeerServer> {
  const [port, folder] = [freePort(), newFolder()];
  return startPeer({
    name: "Centrifugo",
    command: commandOf(port, folder),
    port,
    folder,
    dialect: {
      path: "/connection/websocket",
      hello: {
        text: hello ?? '{"id":1,"connect":{}}\n{"id":2,"subscribe":{"channel":"bench"}}',
        isBinary: false,
      },
      welcome: hello?.includes("subscribe") === false ? '"connect":{' : '"subscribe":{',
      publish: publish
        ? post(port, publish[0], JSON.stringify(publish[1]))
        : post(port, "/api/publish", JSON.stringify({ channel: "bench", data: message })),
    },
  });
}

function startAnycable(program: string): Promise<PeerServer> {
  const [port, broadcastPort] = [freePort(), freePort()];
  const identifier = JSON.stringify({ channel: "$pubsub", stream_name: "bench" });
  return startPeer({
    name: "AnyCable",
    command: [
      program,
      "--public",
      "--host=127.0.0.1",
      `--port=${port}`,
      "--broadcast_adapter=http",
      `--http_broadcast_port=${broadcastPort}`,
      "--ping_interval=1200",
      "--log_level=error",
    ],
    port,
    folder: newFolder(),
    dialect: {
      path: "/cable",
      protocol: "actioncable-v1-json",
      hello: { text: JSON.stringify({ command: "subscribe", identifier }), isBinary: false },
      welcome: "confirm_subscription",
      publish: post(
        broadcastPort,
        "/_broadcast",
        JSON.stringify({ stream: "bench", data: JSON.stringify(message) }),
      ),
    },
  });
}

function startNats(program: string): Promise<PeerServer> {
  const [port, clientPort, folder] = [freePort(), freePort(), newFolder()];
  const config = join(folder, "nats.conf");
  writeFileSync(
    config,
    `host: 127.0.0.1\nport: ${clientPort}\nping_interval: "20m"\nwebsocket { host: 127.0.0.1, port: ${port}, no_tls: true }\n`,
  );
  return startPeer({
    name: "NATS",
    command: [program, "-c", config],
    port,
    folder,
    dialect: {
      path: "/",
      hello: {
        text: 'CONNECT {"verbose":false,"pedantic":false}\r\nSUB bench 1\r\nPING\r\n',
        isBinary: true,
      },
      welcome: "PONG",
      publish: { kind: "nats", address: `127.0.0.1:${clientPort}`, body: message },
    },
  });
}

function post(
  port: number,
  path: string,
  body: string,
  contentType = "application/json",
): PeerDialect["publish"] {
  return { kind: "http", address: `127.0.0.1:${port}`, path, contentType, body };
}
