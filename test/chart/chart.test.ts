import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import Ajv from "ajv";
import manifest from "../../package.json" with { type: "json" };
import {
  chartFolder,
  examples,
  givenSecrets,
  type Manifest,
  podsOf,
  readManifests,
  renderExample,
  runHelm,
  templateArguments,
} from "../support/chart.ts";
import { deployFolder } from "../support/compose.ts";
import { serviceUrl } from "../support/services.ts";

const helm = (await serviceUrl("helm")) ?? "";
const fixtures = join(import.meta.dir, "../fixtures");
const kubernetes = (await Bun.file(join(fixtures, "kubernetes.json")).json()) as {
  kinds: Record<string, { $ref: string }>;
  definitions: object;
};
const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false });
ajv.addSchema({ $id: "kubernetes", definitions: kubernetes.definitions });

/** What Kubernetes would refuse in a manifest. */
function faultsOf(document: Manifest) {
  const root = kubernetes.kinds[`${document.apiVersion} ${document.kind}`];
  if (!root)
    throw new Error(`There is no schema of ${document.kind}: add it to scripts/kubernetes-schemas.ts.`);
  const validate = ajv.getSchema(`kubernetes${root.$ref}`);
  validate?.(document);
  return validate?.errors ?? [];
}

/** Renders the chart with these values alone. */
const template = (values: object) => runHelm(helm, ["template", "demo", "."], values);

describe.skipIf(!helm)("the chart", () => {
  test.each(examples)("has no fault for helm lint, with the values %s", async (example) => {
    const linted = await runHelm(helm, ["lint", ".", "--strict", "--values", `examples/${example}.yaml`]);
    expect(linted).toMatchObject({ exitCode: 0, output: expect.stringContaining("0 chart(s) failed") });
  });

  test.each(examples)("makes what Kubernetes and the Prometheus operator accept: %s", async (example) => {
    const manifests = await renderExample(helm, example);
    expect(manifests.length).toBeGreaterThan(5);
    for (const document of manifests)
      expect([document.metadata.name, faultsOf(document)]).toEqual([document.metadata.name, []]);
  });

  test("a field that Kubernetes does not know is found", async () => {
    const [budget] = await renderExample(helm, "single");
    expect(faultsOf({ ...budget, spec: { ...budget?.spec, maxUnavailabel: 1 } } as Manifest)).toMatchObject([
      { params: { additionalProperty: "maxUnavailabel" } },
    ]);
  });

  // After a wanted change: UPDATE_GOLDEN=1 bun test test/chart/chart.test.ts, and read the difference.
  test.each(examples)("makes these manifests: %s", async (example) => {
    const { output } = await runHelm(helm, templateArguments(example), givenSecrets);
    const text = output.replaceAll(manifest.version, "VERSION");
    const golden = Bun.file(join(fixtures, `chart/${example}.yaml`));
    if (process.env.UPDATE_GOLDEN) await golden.write(text);
    expect(text).toBe(await golden.text());
  });

  test("closes broker, database and runners by default", async () => {
    const { output } = await template({
      baseUrl: "https://deploy.example.com",
      ...{
        rabbitmq: { enabled: true },
        postgresql: { enabled: true },
        runner: { enabled: true, token: "t" },
      },
    });
    const policies = readManifests(output).filter(({ kind }) => kind === "NetworkPolicy");
    const callersOf = (part: string) =>
      JSON.stringify(policies.find(({ metadata }) => metadata.name === `demo-slipway-${part}`)?.spec).match(
        /"values":\[[^\]]*\]/g,
      );
    expect(policies).toHaveLength(5);
    expect(callersOf("rabbitmq")).toEqual(['"values":["gateway"]']);
    expect(callersOf("postgresql")).toEqual(['"values":["deploy"]']);
    expect(callersOf("gateway")).toEqual(['"values":["deploy"]']);
    expect(callersOf("runner")).toBeNull();
  });

  test("has the version of the program, which is also that of the image", async () => {
    const chart = Bun.YAML.parse(await Bun.file(join(chartFolder, "Chart.yaml")).text());
    expect(chart).toMatchObject({ version: manifest.version, appVersion: manifest.version });
  });
});

describe.skipIf(!helm)("every pod", () => {
  const pods = async (example: (typeof examples)[number]) => podsOf(await renderExample(helm, example));

  test.each(examples)(
    "runs without root, on a read-only file system and with requests: %s",
    async (example) => {
      for (const { name, spec } of await pods(example)) {
        const [container] = spec.containers;
        // Scripts of a runner may be allowed to write.
        const isReadOnly = !(example === "everything" && name.endsWith("-runner"));
        expect([name, spec.securityContext, container?.securityContext]).toEqual([
          name,
          expect.objectContaining({ runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } }),
          {
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: isReadOnly,
            capabilities: { drop: ["ALL"] },
          },
        ]);
        expect(Object.keys(container?.resources.requests ?? {})).toEqual(["cpu", "memory"]);
      }
    },
  );

  test("of a runner serve no routes: nobody reaches its ports", async () => {
    const runner = (await pods("everything")).find(({ name }) => name.endsWith("-runner"));
    const proxy = expect.arrayContaining([{ name: "SLIPWAY_RUNNER_PROXY", value: "none" }]) as unknown;
    expect(runner?.spec).toMatchObject({ containers: [{ env: proxy }] });
  });

  test("of a runner may create namespaces if its scripts are to have sandboxes", async () => {
    const args = [...templateArguments("everything"), "--set", "runner.sandbox=true"];
    const { output, problems } = await runHelm(helm, args, givenSecrets);
    expect(problems).toBe("");
    const manifests = readManifests(output);
    for (const document of manifests) expect(faultsOf(document)).toEqual([]);
    const runner = podsOf(manifests).find(({ name }) => name.endsWith("-runner"));
    expect(runner?.spec).toMatchObject({
      hostUsers: false,
      containers: [
        {
          securityContext: {
            allowPrivilegeEscalation: false,
            procMount: "Unmasked",
            seccompProfile: { type: "Unconfined" },
            appArmorProfile: { type: "Unconfined" },
          },
        },
      ],
    });
  });

  test("gets no variables about services, which would be unknown settings", async () => {
    for (const { name, spec } of await pods("everything"))
      expect([name, spec.enableServiceLinks]).toEqual([name, false]);
  });

  test("of the program runs as the user of the image", async () => {
    const dockerfile = await Bun.file(join(deployFolder, "Dockerfile")).text();
    const uid = Number(/useradd .*--uid (\d+) .*slipway$/m.exec(dockerfile)?.[1]);
    const [gateway] = await pods("push-cluster");
    expect(gateway?.spec.securityContext.runAsUser).toBe(uid);
  });

  test("is selected by its own service, budget and policy alone", async () => {
    const manifests = await renderExample(helm, "everything");
    const labels = manifests.flatMap(({ spec }) => (spec?.template ? [spec.template.metadata.labels] : []));
    const selectors = manifests.flatMap(({ kind, metadata, spec }) => {
      const selector = (spec?.podSelector ?? spec?.selector) as Selector | undefined;
      const isPod = kind === "StatefulSet" || kind === "Deployment" || kind === "ServiceMonitor";
      return selector && !isPod ? [[metadata.name, selector.matchLabels ?? selector] as const] : [];
    });
    expect(selectors.length).toBe(11);
    for (const [name, selector] of selectors) {
      const selected = labels.filter((pod) =>
        Object.entries(selector as object).every(([key, value]) => pod[key] === value),
      );
      expect([name, selected.map((pod) => `demo-slipway-${pod["app.kubernetes.io/component"]}`)]).toEqual([
        name,
        [name],
      ]);
    }
  });
});

interface Selector {
  matchLabels?: Record<string, string>;
}

describe.skipIf(!helm)("secrets", () => {
  const secretsIn = (manifests: Manifest[]) => manifests.filter(({ kind }) => kind === "Secret");

  test("that are not given are generated, each another one, and outlive the release", async () => {
    const made = async () =>
      secretsIn(readManifests((await template({ baseUrl: "https://deploy.example.com" })).output))[0];
    const [first, second] = [await made(), await made()];
    expect(first?.metadata).toMatchObject({ annotations: { "helm.sh/resource-policy": "keep" } });
    const texts = Object.values(first?.data ?? {});
    expect(texts.length).toBe(5);
    expect(new Set([...texts, ...Object.values(second?.data ?? {})]).size).toBe(10);
    const key = Buffer.from(first?.data?.["encryption-key"] ?? "", "base64").toString();
    expect(Buffer.from(key, "base64").length).toBe(32);
  });

  test("of an existing Secret are used, and none is made", async () => {
    const { output } = await template({
      baseUrl: "https://deploy.example.com",
      secrets: { existingSecret: "mine" },
      broker: { existingSecret: "mine" },
      database: { existingSecret: "mine" },
    });
    expect(secretsIn(readManifests(output))).toEqual([]);
    const named = [...output.matchAll(/secretKeyRef:\n\s+name: (\S+)/g)].map(([, name]) => name);
    expect([...new Set(named)]).toEqual(["mine"]);
  });
});

const refusals: [string, object, string][] = [
  ["an unknown value", { gatewya: {} }, "Additional property gatewya is not allowed"],
  [
    "an unknown value of a part",
    { gateway: { replica: 3 } },
    "gateway: Additional property replica is not allowed",
  ],
  ["no replica", { gateway: { replicas: 0 } }, "gateway.replicas: Must be greater than or equal to 1"],
  [
    "a broker of another kind",
    { broker: { url: "redis://a" } },
    "broker.url: Does not match pattern '^((amqps?|kafkas?)://",
  ],
  [
    "a key of another length",
    { secrets: { encryptionKey: "short" } },
    "secrets.encryptionKey: Does not match pattern",
  ],
  [
    "an origin with a path",
    { gateway: { allowedOrigins: ["https://a/b"] } },
    "gateway.allowedOrigins.0: Does not match pattern",
  ],
  [
    "a password that breaks its URL",
    { rabbitmq: { password: "a@b" } },
    "rabbitmq.password: Does not match pattern",
  ],
  ["nested settings", { settings: { push: { "max-connections": 1 } } }, "settings"],
  [
    "nothing enabled",
    { gateway: { enabled: false }, deploy: { enabled: false } },
    "Nothing is enabled: set gateway.enabled",
  ],
  [
    "several gateways without a broker",
    { gateway: { replicas: 2 } },
    "gateway.replicas is 2, and without a broker the gateways would not share messages: set broker.url",
  ],
  [
    "several servers on SQLite",
    { deploy: { replicas: 2 } },
    "deploy.replicas is 2, and a SQLite file has one server: set database.url",
  ],
  [
    "SQLite without a volume",
    { deploy: { persistence: { enabled: false } } },
    "the SQLite database would be lost with its pod",
  ],
  [
    "two brokers",
    { broker: { url: "amqp://a" }, rabbitmq: { enabled: true } },
    "broker.url and rabbitmq.enabled name two brokers",
  ],
  [
    "two databases",
    { database: { url: "postgres://a/b" }, postgresql: { enabled: true } },
    "database.url and postgresql.enabled name two databases",
  ],
  ["no public address", { baseUrl: "" }, "baseUrl is empty: set the public address"],
  ["an ingress without a host", { ingress: { enabled: true } }, "ingress.host is empty"],
  [
    "an ingress controller that no policy lets in",
    { ingress: { enabled: true, host: "deploy.example.com" } },
    "networkPolicy.from is empty, so that the ingress controller cannot reach the pods",
  ],
  [
    "a Prometheus that no policy lets in",
    { serviceMonitor: { enabled: true } },
    "networkPolicy.from is empty, so that Prometheus cannot reach the pods",
  ],
  [
    "a load balancer that no policy lets in",
    { gateway: { service: { type: "LoadBalancer" } } },
    "networkPolicy.from is empty, so that callers of gateway.service cannot reach the pods",
  ],
  [
    "nobody who verifies codes",
    { deploy: { enabled: false } },
    "gateway.verifyUri is empty, and nothing else verifies the codes",
  ],
  [
    "no origins",
    { baseUrl: "", deploy: { enabled: false }, gateway: { verifyUri: "http://a" } },
    "gateway.allowedOrigins is empty",
  ],
  [
    "no gateway to publish to",
    { gateway: { enabled: false } },
    "deploy.pushUrl is empty: set the address of a gateway",
  ],
  [
    "a runner without a token",
    { runner: { enabled: true } },
    "runner.token is empty: create a runner in the console",
  ],
  [
    "a runner without a server",
    { gateway: { enabled: false }, deploy: { enabled: false }, runner: { enabled: true, token: "t" } },
    "runner.server is empty",
  ],
  [
    "a setting that the chart gives",
    { settings: { "push.drain-period": "60s" } },
    "settings has push.drain-period, which the chart sets itself; use instead: gateway.drain.periodSeconds.",
  ],
];

describe.skipIf(!helm)("values that cannot work are refused with the way out:", () => {
  test.each(refusals)("%s", async (_, values, text) => {
    const { exitCode, problems } = await template({ baseUrl: "https://deploy.example.com", ...values });
    expect({ exitCode, problems }).toEqual({ exitCode: 1, problems: expect.stringContaining(text) });
  });
});
