import { secret, setting } from "./declare-setting.ts";
import { eventSettings } from "./event-settings.ts";
import { jwtSettings } from "./jwt-settings.ts";
import { messageSettings } from "./message-settings.ts";
import { runnerSettings } from "./runner-settings.ts";
import {
  accessKey,
  baseUrl,
  boolean,
  bytes,
  cidr,
  countOrAuto,
  days,
  decimal,
  duration,
  durationFrom,
  encryptionKey,
  hostName,
  integer,
  type Kind,
  listen,
  listOf,
  oneOf,
  originPattern,
  perSecond,
  positiveDuration,
  queueName,
  type Setting,
  text,
  url,
  webOrigin,
} from "./setting-kinds.ts";
import { signInSettings } from "./sign-in-settings.ts";
import { telemetrySettings } from "./telemetry-settings.ts";

/**
 * Every setting of the product: key as it is spelt in slipway.yaml, kind, default, meaning. The file, the
 * environment, the flags, validation, `config print` and docs/configuration.md all come from this table.
 * In code, durations are milliseconds and sizes are bytes.
 */
export const settings = {
  "server.listen": setting(
    listen,
    "127.0.0.1:8080",
    "Address and port of the HTTP server. `PORT` in the environment replaces the port.",
  ),
  "server.baseUrl": setting(
    baseUrl,
    undefined,
    "Public address, used in webhook addresses. Unset: inferred from the listen address, reachable locally only.",
  ),
  "server.trustedProxies": setting(
    listOf(cidr),
    [],
    "Networks of proxies whose X-Forwarded-For is believed; the right-most untrusted entry is the client.",
  ),
  "server.hosts": setting(
    listOf(hostName),
    [],
    "Host names that programs may use for /feign and /metrics without a key, besides IP addresses, `localhost` and the host of server.baseUrl.",
  ),
  "data.dir": setting(text, "./data", "Folder of the database, workspaces, samples and the key file."),
  "data.encryptionKey": secret(
    encryptionKey,
    undefined,
    "Key that encrypts stored secrets (32 bytes, base64 or hex). Unset: a key file made at the first start.",
  ),
  "database.url": secret(
    text,
    undefined,
    "`sqlite:<file>` or `postgres://…`. Unset: `sqlite:<data.dir>/slipway.db`.",
  ),
  "database.poolSize": setting(
    integer(2, 500),
    10,
    "Maximum number of connections to PostgreSQL per instance; one more holds the lock of the running server.",
  ),
  "push.verify-uri": setting(
    url("http", "https"),
    undefined,
    "Address that verifies a connection's `code` and answers its userId. Unset in `start`: only codes that Slipway issued.",
  ),
  "push.verify-method": setting(oneOf("GET", "POST"), "GET", "How verify-uri is called."),
  ...jwtSettings,
  ...eventSettings,
  "push.allowed-origins": setting(
    listOf(originPattern),
    ["*"],
    "Origins that may connect: `*`, exact origins, or `https://*.example.com`. A request without Origin passes.",
  ),
  "push.workers": setting(
    countOrAuto,
    1,
    "Processes that share the port in `slipway push` (`--workers`); `auto`: one per core. `start` is always one process.",
  ),
  "push.max-connections": setting(
    integer(1),
    100_000,
    "Upper bound on simultaneous connections; lowered at start to the open-file limit (1,024 or more) less 500.",
  ),
  "push.max-connections-per-user": setting(integer(0), 0, "Connections of one user; 0 means no limit."),
  "push.reject-mode": setting(
    oneOf("http", "close"),
    "http",
    "`http` refuses the handshake; `close` upgrades and closes with a 4xxx code that browsers can read.",
  ),
  "push.pong-timeout": setting(
    positiveDuration,
    "60s",
    "A connection silent for this long is closed with 4201.",
  ),
  "push.ping-interval": setting(
    positiveDuration,
    "25s",
    "How often a ping is sent; must be shorter than pong-timeout.",
  ),
  "push.heartbeat-content": setting(text, "ping", "Content of the heartbeat, at most 125 bytes."),
  "push.accept-client-message": setting(boolean, false, "Whether messages sent by clients are accepted."),
  "push.queue-client-messages": setting(
    boolean,
    false,
    "Whether accepted client messages are written to the queue `<prefix>.client`; needs push.queue.url.",
  ),
  "push.client-message-rate": setting(
    perSecond,
    "50/s",
    "Client messages per connection; above it: close 4301.",
  ),
  "push.connect-rate": setting(perSecond, "200/s", "Connection attempts per address; above it: 429."),
  "push.temp-max-lifetime": setting(
    duration,
    "600s",
    "Lifetime of a temporary connection; 0 means none. The verify answer may set another.",
  ),
  "push.expire-with-code": setting(
    boolean,
    false,
    "Whether a connection ends when its code does: `exp` of a JWT, `expiresAt` of the verify answer. A `slipway.v1` client is asked for a new code before; others are closed with 4005.",
  ),
  "push.max-lifetime": setting(
    duration,
    "0s",
    "Time after which every connection needs a new code, as with expire-with-code; 0: none.",
  ),
  "push.unasked-temporary": setting(
    oneOf("normal", "refuse"),
    "normal",
    "When the verify answer has `temporary: true` and the client did not send temp=1: open a normal connection, or refuse with 401.",
  ),
  "push.public-channels": setting(
    listOf(text),
    ["*"],
    "Globs of channel names that any admitted connection may join; `private-…` is never among them.",
  ),
  "push.reserve-console-names": setting(
    boolean,
    true,
    "Whether user ids `slipway:…` and channels `private-project-…` are reserved for the console of the deploy service. False: applications may use them too, and can receive the console's messages.",
  ),
  "push.cluster-enabled": setting(
    boolean,
    false,
    "Distribute through the message queue to several instances; needs push.queue.url.",
  ),
  "push.queue.url": secret(
    url("amqp", "amqps", "kafka", "kafkas"),
    undefined,
    "`amqp://host:5672,host:5672`, `amqps://…`, `kafka://host:9092,host:9092` or `kafkas://…`.",
  ),
  "push.queue.prefix": setting(queueName, "push", "Prefix of exchange, queue and topic names."),
  "push.queue.durability": setting(
    oneOf("durable", "transient"),
    "durable",
    "`transient` trades loss at a broker crash for speed.",
  ),
  "push.queue.sasl": setting(
    oneOf("none", "plain", "scram-sha-256", "scram-sha-512"),
    "none",
    "How Kafka checks the user and password in push.queue.url.",
  ),
  "push.queue.tls-ca": setting(text, undefined, "File of the certificate authority of the broker (PEM)."),
  "push.queue.instance-id": setting(
    queueName,
    undefined,
    "Stable name of this instance at the broker. Unset: kept in data.dir.",
  ),
  ...messageSettings,
  "push.log-file": setting(
    boolean,
    true,
    "Without a queue: keeps the messages of the last minutes in data.dir, so that clients resume and idempotency keys are known after a restart.",
  ),
  "push.api-keys": secret(
    listOf(accessKey),
    [],
    "Keys that admit a caller to /feign; several for rotation. A key such as `shop:4f9c…` has the name `shop`: keys with the same name are one caller, whose idempotency keys stay valid when its key is replaced; a key without a name is a caller of its own. Empty: only callers in push.internal-networks. SIGHUP reads the list again.",
  ),
  "push.deploy-key": secret(
    text,
    undefined,
    "Key of a deploy service in another process, equal to its deploy.push.apiKey. Set: only calls with this key may act on the console's channels and users. Unset: no caller if the deploy service runs in the same process; for a separate push role, every admitted caller of /feign that sends `X-Slipway-Service: deploy`.",
  ),
  "push.internal-networks": setting(
    listOf(cidr),
    undefined,
    "Networks whose callers need no key for /feign and /metrics while no key is set. Unset: loopback (`127.0.0.0/8`, `::1/128`), or none if server.baseUrl is a public address.",
  ),
  "push.drain-delay": setting(
    duration,
    "5s",
    "Time between not-ready and the first refusal while draining. Without another instance there is none.",
  ),
  "push.drain-period": setting(
    duration,
    "10s",
    "Time over which connections are closed while draining. Without another instance they are closed at once.",
  ),
  "deploy.push.url": setting(
    url("http", "https"),
    undefined,
    "Address of the push role in a split deployment. Unset: in-process.",
  ),
  "deploy.push.apiKey": secret(text, undefined, "Api key for deploy.push.url."),
  "webhook.maxBodyKB": setting(integer(1, 102_400), 1024, "Largest delivery body; above it: 413."),
  "webhook.limitPerMinute": setting(integer(1), 120, "Deliveries per project and minute; above it: 429."),
  "webhook.debounceSeconds": setting(
    integer(0, 86_400),
    5,
    "Debounce window in seconds, used when the project sets none.",
  ),
  "webhook.reconcileMinutes": setting(
    decimal(0, 10_080),
    10,
    "Minutes between polls of the repositories, which find pushes that no delivery has reported; also at start. 0: off.",
  ),
  "webhook.deliveryRetentionDays": setting(days(0.001), 30, "How long delivery records are kept."),
  "tasks.concurrency": setting(integer(1, 256), 2, "Tasks whose scripts one runner runs at the same time."),
  "tasks.timeout": setting(duration, "1h", "Longest run of one stage that sets no timeout of its own."),
  "tasks.lease": setting(
    durationFrom(5000, 3_600_000),
    "60s",
    "How long a runner keeps its task without contact. It sends four heartbeats in this time and stops the task after three quarters of it.",
  ),
  "tasks.stopGrace": setting(
    duration,
    "10s",
    "Time between SIGTERM and SIGKILL; shorter for a runner that lost its lease, so that its processes end before the server gives the task up.",
  ),
  "tasks.logMaxBytes": setting(
    bytes,
    "10 MiB",
    "Largest stored log of one task; a line counts 32 bytes more than its text.",
  ),
  "tasks.retentionDays": setting(
    days(0),
    365,
    "How long finished tasks and their logs are kept; 0 keeps them for ever. The last task and the live task of a project are always kept.",
  ),
  "transfers.quota": setting(
    bytes,
    "10 GiB",
    "Most that releases and data on their way from one runner to another take on the server. They are kept until the task that needs them has ended.",
  ),
  "transfers.s3.bucket": setting(
    text,
    "",
    "Bucket of an S3 store for them. Empty: `<data.dir>/transfers`, which several servers of one database must share.",
  ),
  "transfers.s3.endpoint": setting(
    text,
    "",
    "Address of the S3 store, such as `https://s3.example.com`. Empty: that of the region at AWS.",
  ),
  "transfers.s3.region": setting(text, "us-east-1", "Region of the bucket."),
  "transfers.s3.accessKeyId": setting(text, "", "Name of the key for the bucket."),
  "transfers.s3.secretAccessKey": secret(text, undefined, "The key for the bucket."),
  "transfers.s3.prefix": setting(text, "slipway/", "Before the names of all objects."),
  "hosts.trusted": setting(
    listOf(webOrigin),
    [],
    "Origins of Git servers that may have an internal address or use http: `[http://git.corp.lan:3000]`. Cloning, webhooks that Slipway creates and commit statuses work there, at no other port and without redirects.",
  ),
  "tasks.allowLocalRepositories": setting(
    boolean,
    false,
    "Allow clone URLs other than https and ssh. `<data.dir>/samples` is always allowed.",
  ),
  "tasks.allowInternalNotifications": setting(
    boolean,
    false,
    "Allow outgoing webhooks and commit statuses to loopback and private addresses.",
  ),
  "routes.anyDomain": setting(
    boolean,
    true,
    "Whether managers may use any free domain in routes, as long as no administrator has allowed domains for the project or its group. `false`: only allowed ones.",
  ),
  ...runnerSettings,
  "auth.sessionHours": setting(integer(1, 8760), 12, "How long a sign-in lasts."),
  "auth.secureCookie": setting(
    oneOf("auto", "never"),
    "auto",
    "`auto`: the console's cookie is `Secure` if server.baseUrl is https or the client used https. `never`: for a console that is also opened over plain http.",
  ),
  ...signInSettings,
  "metrics.token": secret(text, undefined, "Bearer token for /metrics. Unset: internal networks only."),
  ...telemetrySettings,
  "log.level": setting(oneOf("debug", "info", "warn", "error"), "info", "Lowest level that is logged."),
  "log.format": setting(
    oneOf("auto", "json", "pretty"),
    "auto",
    "`auto`: readable on a terminal, JSON elsewhere.",
  ),
} satisfies Record<string, Setting<unknown>>;

type Settings = typeof settings;
export type SettingKey = keyof Settings;
type ValueOf<S> = S extends { kind: Kind<infer T>; default: infer D }
  ? D extends undefined
    ? T | undefined
    : T
  : never;

/** All settings by their key, validated. */
export type Config = { [K in SettingKey]: ValueOf<Settings[K]> };

export const settingKeys = Object.keys(settings) as SettingKey[];

export function isSettingKey(key: string): key is SettingKey {
  return key in settings;
}

/** `push.verify-uri` → `SLIPWAY_PUSH_VERIFY_URI`; `webhook.maxBodyKB` → `SLIPWAY_WEBHOOK_MAX_BODY_KB`. */
export function environmentName(key: string): string {
  return `SLIPWAY_${key
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replaceAll(/[.-]/g, "_")
    .toUpperCase()}`;
}

/** `push.verify-uri` → `push-verify-uri`, the long flag without its dashes. */
export function flagName(key: string): string {
  return environmentName(key).slice("SLIPWAY_".length).toLowerCase().replaceAll("_", "-");
}

/** Every way in which a process receives a secret at start: as a setting or otherwise. */
export const startSecrets = {
  variables: [
    ...settingKeys.filter((key) => settings[key].secret).map(environmentName),
    "SLIPWAY_ADMIN_PASSWORD",
    "SLIPWAY_TOKEN",
    "SLIPWAY_API_KEY",
    "PGPASSWORD",
    "OTEL_EXPORTER_OTLP_HEADERS",
  ],
  flags: [...settingKeys.filter((key) => settings[key].secret).map(flagName), "token"],
};
