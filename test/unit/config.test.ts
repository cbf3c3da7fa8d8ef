import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { type Config, environmentName, flagName, settingKeys } from "../../src/config/config.ts";
import {
  ConfigError,
  type ConfigFault,
  type ConfigSources,
  configOf,
  loadConfig,
  printConfig,
} from "../../src/config/config-load.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const folder = temporaryFolder("config");

let files = 0;

async function load(yaml: string, more: Partial<ConfigSources> = {}): Promise<Config> {
  const path = join(folder, `${files++}.yaml`);
  await Bun.write(path, yaml);
  return loadConfig({ file: { path, required: true }, env: {}, flags: {}, ...more });
}

async function faultsOf(loading: Promise<unknown>): Promise<ConfigFault[]> {
  const error = await loading.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof ConfigError)) throw new Error("expected a ConfigError");
  return error.faults;
}

describe("a settings file", () => {
  test("with a misspelt key, a wrong type and a bad URL gives three faults in one run", async () => {
    const faults = await faultsOf(
      load(
        "push:\n  pong-timeuot: 60s\n  max-connections: plenty\n  verify-uri: ftp://app.example.com/verify\n",
      ),
    );
    expect(faults.map(({ key }) => key).sort()).toEqual([
      "push.max-connections",
      "push.pong-timeuot",
      "push.verify-uri",
    ]);
    const messageOf = (key: string) => faults.find((fault) => fault.key === key)?.message;
    expect(messageOf("push.pong-timeuot")).toContain("did you mean push.pong-timeout?");
    expect(messageOf("push.max-connections")).toContain('"plenty" must be a whole number');
    expect(messageOf("push.verify-uri")).toContain("http:// or https://");
  });

  test("that breaks a rule between settings gets that error in addition to its other mistakes, but not for invalid settings", async () => {
    const faults = await faultsOf(
      load(
        "push:\n  ping-interval: 90s\n  max-connections: plenty\n  cluster-enabled: true\n  queue.url: 5\n",
      ),
    );
    expect(faults.map(({ key }) => key).sort()).toEqual([
      "push.max-connections",
      "push.ping-interval",
      "push.queue.url",
    ]);
  });

  test("may nest its keys or write them dotted", async () => {
    const nested = await load("push:\n  queue:\n    url: amqp://broker\n  pong-timeout: 90\n");
    const dotted = await load('push.queue.url: "amqp://broker"\npush.pong-timeout: 90s\n');
    expect(nested).toEqual(dotted);
    expect(nested["push.pong-timeout"]).toBe(90_000);
  });

  test("may be empty, and then the defaults are in force", async () => {
    expect(await load("")).toEqual(configOf());
  });

  test("leaves a setting as it is where a value is empty", async () => {
    const yaml = 'push:\n  max-connections:\n  heartbeat-content: ""\n';
    expect(await load(yaml, { env: { SLIPWAY_TASKS_CONCURRENCY: "" } })).toEqual(configOf());
  });

  test("may have a part in which every line is a comment", async () => {
    expect(await load("server:\n  # hosts: [a]\npush:\n  queue:\n  # url: x\n  workers: 1\n")).toEqual(
      configOf(),
    );
    const faults = await faultsOf(load("sever:\n"));
    expect(faults.map(({ key }) => key)).toEqual(["sever"]);
  });

  test("that is named but missing, or no YAML of settings, is a fault", async () => {
    const missing = loadConfig({ file: { path: join(folder, "none"), required: true }, env: {}, flags: {} });
    expect(await faultsOf(missing)).toHaveLength(1);
    expect(await faultsOf(load("- a\n- b\n"))).toHaveLength(1);
  });

  test.each([
    [
      "push:\n  workers: 2\nserver:\n  hosts: [a]\npush:\n  compression: true\n",
      /^has the key of line 5 twice/,
    ],
    ["push:\n  workers: 2\n  workers: 3\n", /^has the key of line 3 twice/],
    ["push.workers: 2\n---\nserver.hosts: [a]\n", /^has a second document in line 2/],
    ["push:\n\tworkers: 2\n", /^is not readable YAML: .* at line 2, column 1$/],
    ['metrics:\n  token: "hunter2\n', /^is not readable YAML: .* at line \d+, column \d+$/],
    [
      "metrics:\n  token: *hunter2\n",
      /^is not readable YAML: a value that begins with \* must be in quotes$/,
    ],
    ["push.workers: 2\npush:\n  workers: 3\n", /^is there twice, nested and dotted/],
  ])("that is ambiguous or cannot be read says where: %j", async (yaml, message) => {
    const faults = await faultsOf(load(yaml));
    expect(faults.map((fault) => fault.message)).toEqual([expect.stringMatching(message)]);
    expect(JSON.stringify(faults)).not.toContain("hunter2");
  });

  test("may use anchors and merges", async () => {
    const config = await load("push:\n  resume: &resume { age: 5m }\n  queue: { <<: *resume }\n").catch(
      (error) => error,
    );
    expect(config).toMatchObject({ faults: [{ key: "push.queue.age" }] });
  });

  test("that is only looked for may be missing", async () => {
    const file = { path: join(folder, "none"), required: false };
    expect(await loadConfig({ file, env: {}, flags: {} })).toEqual(configOf());
  });
});

describe("the environment", () => {
  test("spells a key in upper snake case", () => {
    expect(environmentName("push.verify-uri")).toBe("SLIPWAY_PUSH_VERIFY_URI");
    expect(environmentName("server.baseUrl")).toBe("SLIPWAY_SERVER_BASE_URL");
    expect(environmentName("webhook.maxBodyKB")).toBe("SLIPWAY_WEBHOOK_MAX_BODY_KB");
    expect(flagName("webhook.maxBodyKB")).toBe("webhook-max-body-kb");
  });

  test("gives every setting a name of its own", () => {
    expect(new Set(settingKeys.map(environmentName)).size).toBe(settingKeys.length);
  });

  test("wins over the file, and a flag over both", async () => {
    const env = { SLIPWAY_TASKS_CONCURRENCY: "4", SLIPWAY_WEBHOOK_MAX_BODY_KB: "64" };
    const flags = { "tasks.concurrency": "8" };
    const config = await load("tasks:\n  concurrency: 3\nwebhook:\n  maxBodyKB: 32\n", { env, flags });
    expect(config["tasks.concurrency"]).toBe(8);
    expect(config["webhook.maxBodyKB"]).toBe(64);
  });

  test("separates lists by commas", async () => {
    const env = { SLIPWAY_SERVER_TRUSTED_PROXIES: "10.0.0.0/8, fd00::/8" };
    expect((await load("", { env }))["server.trustedProxies"]).toEqual(["10.0.0.0/8", "fd00::/8"]);
  });

  test("with a misspelt name is a fault that names the nearest", async () => {
    const [fault] = await faultsOf(load("", { env: { SLIPWAY_PUSH_VERIFY_URL: "http://x" } }));
    expect(fault?.message).toContain("SLIPWAY_PUSH_VERIFY_URI");
    const [unlike] = await faultsOf(load("zz: 1"));
    expect(unlike?.message).not.toContain("did you mean");
  });

  test("with a name of a million characters is refused without being compared with every setting", async () => {
    const [fault] = await faultsOf(load(`? ${"x".repeat(3_000_000)}\n: 1`));
    expect(fault?.message).toBe("is no setting; see docs/configuration.md");
  });

  test("may hold variables of others and of the tests", async () => {
    expect(
      await load("", { env: { HOME: "/", SLIPWAY_TEST_FULL: "1", SLIPWAY_ADMIN_PASSWORD: "x" } }),
    ).toEqual(configOf());
  });

  test("PORT replaces the port and keeps the host", async () => {
    const config = await load('server:\n  listen: "0.0.0.0:8080"\n', { env: { PORT: "9000" } });
    expect(config["server.listen"]).toEqual({ host: "0.0.0.0", port: 9000 });
    const portAlone = await load("server:\n  listen: 8080\n", { env: { PORT: "9000" } });
    expect(portAlone["server.listen"]).toEqual({ host: "127.0.0.1", port: 9000 });
    const v6 = await load('server:\n  listen: "[::]:8080"\n', { env: { PORT: "9000" } });
    expect(v6["server.listen"]).toEqual({ host: "::", port: 9000 });
    expect((await load("", { env: { PORT: "9000" } }))["server.listen"]).toEqual({
      host: "127.0.0.1",
      port: 9000,
    });
  });
});

describe("a value", () => {
  const right: [keyof Config, string, unknown][] = [
    ["push.pong-timeout", "61", 61_000],
    ["push.pong-timeout", "30500ms", 30_500],
    ["push.pong-timeout", "10m", 600_000],
    ["push.temp-max-lifetime", "0", 0],
    ["push.send-buffer-bytes", "64 KiB", 65_536],
    ["push.client-message-rate", "20/s", 20],
    ["push.cluster-enabled", "false", false],
    ["push.queue.url", "kafka://a:9092,b:9092", "kafka://a:9092,b:9092"],
    ["push.verify-uri", "http://app/verify?code={code}", "http://app/verify?code={code}"],
    ["server.listen", "8081", { host: "127.0.0.1", port: 8081 }],
    ["server.listen", "[::1]:8081", { host: "::1", port: 8081 }],
  ];
  test.each(right)("of %s may be written %p", async (key, written, value) => {
    expect((await load("", { flags: { [key]: written } }))[key]).toEqual(value as never);
  });

  const wrong: [keyof Config, string][] = [
    ["push.pong-timeout", "soon"],
    ["push.pong-timeout", "-1"],
    ["push.send-buffer-bytes", "1 MB"],
    ["push.cluster-enabled", "yes"],
    ["push.reject-mode", "drop"],
    ["push.internal-networks", "10.0.0.0/33"],
    ["push.internal-networks", "10.0.0.256"],
    ["push.queue.url", "redis://broker"],
    ["push.queue.url", "kafka://user:p%zz@broker"],
    ["push.queue.url", "amqp://user:p%zz@broker"],
    ["push.queue.prefix", "a b/ü"],
    ["push.queue.instance-id", "a b"],
    ["data.encryptionKey", "short"],
    ["push.max-message-bytes", "0"],
    ["push.ping-interval", "0"],
    ["push.allowed-origins", "example.com"],
    ["push.allowed-origins", "https://example.com/path"],
    ["hosts.trusted", "git.corp.lan:3000"],
    ["hosts.trusted", "http://git.corp.lan:3000/ann"],
    ["hosts.trusted", "http://*.corp.lan"],
    ["hosts.trusted", "http://ann@git.corp.lan"],
    ["server.listen", "127.0.0.1:99999"],
    ["server.baseUrl", "https://deploy.example.com/"],
    ["webhook.maxBodyKB", "0"],
    ["tasks.concurrency", "1.5"],
    ["tasks.lease", "4s"],
    ["tasks.lease", "2h"],
    ["database.url", "mysql://db"],
  ];
  test.each(wrong)("of %s may not be %p", async (key, written) => {
    const faults = await faultsOf(load("", { flags: { [key]: written } }));
    expect(faults.map((fault) => fault.key)).toEqual([key]);
  });

  test.each([
    "server.listen",
    "push.pong-timeout",
    "push.max-message-bytes",
    "push.connect-rate",
    "push.queue.prefix",
  ])("of %s may not be an object, not even one with a toString of its own", async (key) => {
    const faults = await faultsOf(load(`${key}: {"toString": []}`));
    expect(faults.map((fault) => fault.key)).toEqual([key]);
  });

  test("that is a secret is not repeated in a fault", async () => {
    const faults = await faultsOf(load("", { flags: { "push.queue.url": "redis://user:hunter2@broker" } }));
    expect(JSON.stringify(faults)).not.toContain("hunter2");
  });

  test("in a list of secrets is not repeated in a fault either", async () => {
    const faults = await faultsOf(load("", { env: { SLIPWAY_PUSH_JWT_SECRETS: "hunter2" } }));
    expect(faults.map(({ message }) => message)).toEqual([
      expect.stringMatching(/^\(value hidden\) has an entry that must be text of at least 32 bytes/),
    ]);
    expect(JSON.stringify(faults)).not.toContain("hunter2");
  });

  test("in a list is quoted if the list is no secret", async () => {
    const [fault] = await faultsOf(load("server:\n  trustedProxies: [10.0.0.0/8, lan]\n"));
    expect(fault?.message).toContain('has the entry "lan", which must be a network');
  });

  test.each(["webhook.deliveryRetentionDays", "tasks.retentionDays"])(
    "of %s may not reach beyond the dates that a database knows",
    async (key) => {
      const [fault] = await faultsOf(load(`${key}: 999999999\n`));
      expect(fault?.message).toMatch(/must be a number of days, \S+ to 36500/);
      expect((await load(`${key}: 36500\n`))[key as keyof Config]).toBe(36_500);
    },
  );
});

test.each(['[""]', '["  "]', '["a key", ""]'])(
  "push.api-keys: %s is a fault, because an empty key admits callers without one",
  async (keys) => {
    const faults = await faultsOf(load(`push:\n  api-keys: ${keys}\n`));
    expect(faults.map(({ key }) => key)).toEqual(["push.api-keys"]);
    expect(JSON.stringify(faults)).toContain("must not be empty");
    expect(JSON.stringify(faults)).not.toContain("a key");
  },
);

describe("settings that contradict each other", () => {
  const contradictions: [string, string][] = [
    ["push.ping-interval", "push:\n  ping-interval: 60\n  pong-timeout: 60\n"],
    ["push.heartbeat-content", `push:\n  heartbeat-content: ${"x".repeat(126)}\n`],
    ["push.cluster-enabled", "push:\n  cluster-enabled: true\n"],
    ["push.queue-client-messages", "push:\n  queue-client-messages: true\n"],
  ];
  test.each(contradictions)("are a fault of %s", async (key, yaml) => {
    expect((await faultsOf(load(yaml))).map((fault) => fault.key)).toEqual([key]);
  });
});

describe("config print", () => {
  const yaml = `
server:
  listen: '[::]:9000'
push:
  pong-timeout: 90
  ping-interval: 1500ms
  temp-max-lifetime: 0
  allowed-origins: []
  max-message-bytes: 1000000
  send-buffer-bytes: 2097152
tasks:
  timeout: 1.5h
runner:
  labels: ["7", linux]
`;

  test("shows durations and sizes as people write them", async () => {
    const printed = Bun.YAML.parse(printConfig(await load(yaml)));
    expect(printed).toMatchObject({
      "server.listen": "[::]:9000",
      "push.pong-timeout": "90s",
      "push.ping-interval": "1500ms",
      "push.temp-max-lifetime": "0s",
      "push.drain-delay": "5s",
      "push.connect-rate": "200/s",
      "push.max-message-bytes": 1_000_000,
      "push.send-buffer-bytes": "2 MiB",
      "tasks.timeout": "90m",
    });
  });

  test("loaded again gives the same settings and prints the same", async () => {
    for (const text of ["", yaml]) {
      const config = await load(text);
      const again = await load(printConfig(config));
      expect(again).toEqual(config);
      expect(printConfig(again)).toBe(printConfig(config));
    }
  });

  test("masks secrets, and a mask is not taken for the secret", async () => {
    const env = { SLIPWAY_PUSH_API_KEYS: "hunter2,hunter3", SLIPWAY_DATABASE_URL: "postgres://me:pw@db/x" };
    const config = await load("", { env });
    const printed = printConfig(config);
    expect(printed).not.toMatch(/hunter|me:pw/);
    expect(printed).toContain('push.api-keys: "********"');
    expect(await load(printed, { env })).toEqual(config);
    const faults = await faultsOf(load(printed));
    expect(faults.map((fault) => fault.key)).toEqual(["database.url", "push.api-keys"]);
    expect(faults[1]?.message).toContain("set SLIPWAY_PUSH_API_KEYS");
  });
});
