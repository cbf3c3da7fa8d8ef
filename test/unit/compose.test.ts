import { beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import Ajv from "ajv";
import { loadConfig } from "../../src/config/config-load.ts";
import { type Compose, deployFolder, environmentOf, interpolate, readCompose } from "../support/compose.ts";

const text = { type: "string" } as const;
const texts = { type: "array", items: text } as const;
const environment = { type: "object", additionalProperties: text } as const;

/** The part of the Compose specification that the file uses; a key that is not in it is a mistake. */
const serviceSchema = {
  type: "object",
  additionalProperties: false,
  anyOf: [{ required: ["image"] }, { required: ["build"] }],
  properties: {
    image: text,
    build: {
      type: "object",
      additionalProperties: false,
      required: ["context"],
      properties: { context: text, dockerfile: text, target: text },
    },
    command: texts,
    init: { type: "boolean" },
    read_only: { type: "boolean" },
    tmpfs: texts,
    cap_drop: texts,
    security_opt: texts,
    restart: { enum: ["no", "always", "on-failure", "unless-stopped"] },
    hostname: text,
    networks: texts,
    profiles: texts,
    ports: {
      type: "array",
      items: { type: "string", pattern: "^(127\\.0\\.0\\.1:)?[^:]+(:-\\d+\\})?:\\d+$" },
    },
    volumes: { type: "array", items: { type: "string", pattern: "^[\\w./-]+:/[\\w./-]+(:ro)?$" } },
    environment,
    stop_grace_period: { type: "string", pattern: "^\\d+(ms|s|m|h)$" },
    ulimits: {
      type: "object",
      additionalProperties: {
        type: "object",
        additionalProperties: false,
        required: ["soft", "hard"],
        properties: { soft: { type: "integer" }, hard: { type: "integer" } },
      },
    },
    depends_on: {
      type: "object",
      additionalProperties: {
        type: "object",
        additionalProperties: false,
        required: ["condition"],
        properties: {
          condition: { enum: ["service_started", "service_healthy", "service_completed_successfully"] },
          required: { type: "boolean" },
        },
      },
    },
    healthcheck: {
      type: "object",
      additionalProperties: false,
      required: ["test"],
      properties: {
        test: { type: "array", items: text, minItems: 2 },
        interval: text,
        timeout: text,
        start_period: text,
        retries: { type: "integer" },
      },
    },
  },
} as const;

const composeSchema = {
  type: "object",
  required: ["name", "services", "networks", "volumes"],
  additionalProperties: false,
  patternProperties: { "^x-": { type: "object" } },
  properties: {
    name: text,
    services: { type: "object", additionalProperties: serviceSchema },
    networks: {
      type: "object",
      additionalProperties: {
        type: "object",
        additionalProperties: false,
        properties: {
          ipam: {
            type: "object",
            additionalProperties: false,
            properties: {
              config: {
                type: "array",
                items: { type: "object", additionalProperties: false, properties: { subnet: text } },
              },
            },
          },
        },
      },
    },
    volumes: { type: "object", additionalProperties: { type: "object", maxProperties: 0 } },
  },
} as const;

const variables: Record<string, string> = {
  QUEUE_URL: "amqp://slipway:password@rabbitmq:5672",
  QUEUE_PASSWORD: "password of the queue",
  VERIFY_URI: "http://accounts.internal/verify",
  ALLOWED_ORIGINS: "https://www.example.com",
  PUSH_API_KEY: "key",
  DEPLOY_KEY: "another key",
  POSTGRES_PASSWORD: "password",
  BASE_URL: "https://deploy.example.com",
  ENCRYPTION_KEY: Buffer.alloc(32, 1).toString("base64"),
  ADMIN_PASSWORD: "password",
  RUNNER_TOKEN: "token",
};

const shipped = [
  {
    file: "compose-cluster.yaml",
    example: "cluster.env.example",
    serving: ["push-1", "push-2", "deploy"],
    listeningNowhere: ["runner"],
    published: ["\x24{PUBLIC_PORT:-8080}:8080"],
  },
  {
    file: "compose-push.yaml",
    example: "push.env.example",
    serving: ["push-1", "push-2"],
    listeningNowhere: [],
    published: ["\x24{PUBLIC_PORT:-8080}:8080", "127.0.0.1:\x24{INSIDE_PORT:-8081}:8081"],
  },
] as const;

const single = {
  file: "compose.yaml",
  example: ".env.example",
  serving: ["slipway"],
  listeningNowhere: [],
} as const;

describe.each([single, ...shipped])("deploy/$file", ({ file, example, serving, listeningNowhere }) => {
  let compose: Compose;
  beforeAll(async () => {
    compose = await readCompose(file);
  });

  test("is a compose file", () => {
    const validate = new Ajv({ allErrors: true, strict: false }).compile(composeSchema);
    validate(compose);
    expect(validate.errors ?? []).toEqual([]);
  });

  test("what its services name is there", () => {
    for (const [name, service] of Object.entries(compose.services)) {
      for (const other of Object.keys(service.depends_on ?? {})) {
        expect({ name, other, isThere: other in compose.services }).toEqual({ name, other, isThere: true });
        const isOptional = (compose.services[other]?.profiles ?? []).length > 0;
        expect({ name, other, required: service.depends_on?.[other]?.required ?? true }).toEqual({
          name,
          other,
          required: !isOptional,
        });
        const isHealthy = service.depends_on?.[other]?.condition === "service_healthy";
        const { image, healthcheck } = compose.services[other] ?? {};
        const hasCheck = image === "slipway" || healthcheck !== undefined;
        expect({ name, other, isChecked: !isHealthy || hasCheck }).toEqual({ name, other, isChecked: true });
      }
      for (const network of service.networks ?? []) expect(compose.networks).toHaveProperty([network]);
      for (const volume of service.volumes ?? []) {
        const [source = ""] = volume.split(":");
        if (!source.startsWith(".")) expect(compose.volumes).toHaveProperty([source]);
      }
    }
  });

  test("what serves is asked whether it is alive, by its image or here; a runner listens nowhere", () => {
    for (const name of serving) {
      const { image, healthcheck } = compose.services[name] ?? {};
      const own = healthcheck?.test.slice(1);
      expect([name, own]).toEqual([name, image === "slipway" ? undefined : ["slipway", "health"]]);
    }
    for (const name of listeningNowhere) expect(compose.services[name]?.healthcheck).toBeUndefined();
  });

  test("what is of Slipway has a read-only root and no privileges", () => {
    for (const name of [...serving, ...listeningNowhere]) {
      const { read_only, tmpfs, cap_drop, security_opt } = compose.services[name] ?? {};
      const expected = [name, true, ["/tmp:exec,mode=1777"], ["ALL"], ["no-new-privileges:true"]];
      expect([name, read_only, tmpfs, cap_drop, security_opt]).toEqual(expected);
    }
  });

  test("its example of an .env file names every variable, and no other", async () => {
    const source = await Bun.file(join(deployFolder, file)).text();
    const used = [...source.matchAll(/\$\{(\w+)/g)].map(([, name]) => name ?? "");
    const named = [...(await Bun.file(join(deployFolder, example)).text()).matchAll(/^(\w+)=/gm)].map(
      ([, name]) => name ?? "",
    );
    const profiles = source.includes("profiles:") ? ["COMPOSE_PROFILES"] : [];
    expect([...new Set(named)].sort()).toEqual([...new Set([...used, ...profiles])].sort());
  });

  test("a container has longer to stop than its connections to be drained", async () => {
    expect(parseInt(String(compose.services[serving[0]]?.stop_grace_period), 10) * 1000).toBeGreaterThan(
      await drainMs(),
    );
  });
});

describe.each(shipped)(
  "deploy/$file, with several instances",
  ({ file, example, serving, listeningNowhere, published }) => {
    let compose: Compose;
    beforeAll(async () => {
      compose = await readCompose(file);
    });

    test("only the load balancer is reachable from outside, and of it only the public side", () => {
      const reachable = Object.entries(compose.services).filter(([, { ports }]) => ports !== undefined);
      expect(reachable.map(([name, { ports }]) => [name, ports])).toEqual([["balancer", [...published]]]);
      expect(compose.services.balancer?.environment?.PUBLIC_BIND).toBe(":8080");
      expect(compose.services.balancer?.environment?.INSIDE_BIND).toBe(":8081");
    });

    test("every instance is given settings that are valid, and a name of its own", async () => {
      const ids = new Set<string>();
      for (const name of [...serving, ...listeningNowhere]) {
        const { SLIPWAY_ADMIN_PASSWORD: _, ...given } = environmentOf(compose.services[name], variables);
        const config = await loadConfig({ env: given, flags: {} });
        if (name.startsWith("push")) ids.add(config["push.queue.instance-id"] ?? "");
      }
      expect(ids).toEqual(new Set(["push-1", "push-2"]));
    });

    test("the brokers have a password, which has to be given", async () => {
      const { rabbitmq, kafka } = compose.services;
      for (const broker of [rabbitmq, kafka])
        expect(() => environmentOf(broker, { ...variables, QUEUE_PASSWORD: "" })).toThrow("QUEUE_PASSWORD");
      expect(environmentOf(rabbitmq, variables).RABBITMQ_DEFAULT_PASS).toBe("password of the queue");
      const settings = environmentOf(kafka, variables);
      expect(settings.KAFKA_LISTENER_SECURITY_PROTOCOL_MAP).toBe(
        "BROKER:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
      );
      // The controller has no password, so that only the container itself reaches it.
      expect(settings.KAFKA_LISTENERS).toBe("BROKER://:9092,CONTROLLER://localhost:9093");
      expect(settings.KAFKA_LISTENER_NAME_BROKER_PLAIN_SASL_JAAS_CONFIG).toContain(
        'user_slipway="password of the queue"',
      );
      const gateway = environmentOf(compose.services["push-1"], {
        ...variables,
        QUEUE_URL: "kafka://slipway:password@kafka:9092",
        QUEUE_SASL: "plain",
      });
      expect((await loadConfig({ env: gateway, flags: {} }))["push.queue.sasl"]).toBe("plain");
    });

    test("its example has no password or key of its own", async () => {
      const lines = (await Bun.file(join(deployFolder, example)).text()).split("\n");
      const secrets = lines.filter((line) => /^#? ?\w*(PASSWORD|_KEY|QUEUE_URL)=/.test(line));
      expect(secrets.length).toBeGreaterThan(3);
      for (const line of secrets) expect(line).toMatch(/<[^>]+>/);
    });

    test("nothing is open that was not asked for: keys and origins have to be given", async () => {
      const gateway = compose.services["push-1"];
      for (const name of ["PUSH_API_KEY", "DEPLOY_KEY", "ALLOWED_ORIGINS"])
        expect(() => environmentOf(gateway, { ...variables, [name]: "" })).toThrow(name);
      const config = await loadConfig({ env: environmentOf(gateway, variables), flags: {} });
      expect(config["push.api-keys"]).toEqual(["key"]);
      expect(config["push.deploy-key"]).toBe("another key");
      expect(config["push.allowed-origins"]).toEqual(["https://www.example.com"]);
    });
  },
);

test("scripts on the runner of a cluster reach the deploy service alone, and nobody believes their headers", async () => {
  const { services, networks } = await readCompose("compose-cluster.yaml");
  const own = services.runner?.networks ?? [];
  const reached = Object.entries(services).filter(([, { networks = [] }]) =>
    networks.some((network) => own.includes(network)),
  );
  expect(reached.map(([name]) => name).sort()).toEqual(["deploy", "runner"]);
  const subnets = new Map(
    Object.entries(networks as Record<string, { ipam?: { config: { subnet: string }[] } }>).map(
      ([name, { ipam }]) => [name, ipam?.config[0]?.subnet],
    ),
  );
  for (const name of ["push-1", "push-2", "deploy"]) {
    const config = await loadConfig({
      env: { ...environmentOf(services[name], variables), SLIPWAY_ADMIN_PASSWORD: undefined },
      flags: {},
    });
    const believed = [...subnets].filter(([, subnet]) =>
      config["server.trustedProxies"].includes(subnet ?? ""),
    );
    expect([name, believed.map(([network]) => network)]).toEqual([name, ["slipway"]]);
  }
  expect(own).not.toContain("slipway");
  expect(subnets.get("runners")).toBe("172.29.9.0/24");
});

test("the unit gives a server longer to stop than its connections to be drained", async () => {
  const unit = await Bun.file(join(deployFolder, "slipway.service")).text();
  expect(Number(/TimeoutStopSec=(\d+)/.exec(unit)?.[1]) * 1000).toBeGreaterThan(await drainMs());
});

async function drainMs(): Promise<number> {
  const config = await loadConfig({ env: {}, flags: {} });
  return config["push.drain-delay"] + config["push.drain-period"];
}

test("variables are filled in as Compose does", () => {
  expect(interpolate("a \x24{X:-b} c \x24{Y}", { Y: "d" })).toBe("a b c d");
  expect(() => interpolate("\x24{X:?must be set}", {})).toThrow("must be set");
});

test("on one machine the server is reached from that machine, whose proxy is believed", async () => {
  const { networks, services } = await readCompose("compose.yaml");
  expect(services.slipway?.ports).toEqual(["127.0.0.1:\x24{PUBLIC_PORT:-8080}:8080"]);
  const config = await loadConfig({ env: environmentOf(services.slipway, {}), flags: {} });
  expect(networks).toEqual({ slipway: { ipam: { config: [{ subnet: "172.29.6.0/24" }] } } });
  expect(config["server.trustedProxies"]).toEqual(["172.29.6.1/32"]);
  expect(config["runner.enabled"]).toBe(true);
});
