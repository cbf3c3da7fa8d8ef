import { join } from "node:path";
import { deployFolder } from "./compose.ts";

export const chartFolder = join(deployFolder, "helm/slipway");

/** The values that the chart has as examples. Each has a golden file. */
export const examples = ["single", "push-cluster", "everything"] as const;
export type Example = (typeof examples)[number];

export interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string; labels?: Record<string, string> };
  data?: Record<string, string>;
  spec?: {
    replicas?: number;
    template?: { metadata: { labels: Record<string, string> }; spec: PodSpec };
    [field: string]: unknown;
  };
}

export interface PodSpec {
  containers: Container[];
  terminationGracePeriodSeconds: number;
  enableServiceLinks: boolean;
  automountServiceAccountToken?: boolean;
  securityContext: { runAsNonRoot: boolean; runAsUser: number };
}

interface Probe {
  httpGet?: { path: string; port: string };
}

export interface Container {
  name: string;
  args: string[];
  env: Variable[];
  lifecycle?: { preStop: { exec: { command: string[] } } };
  livenessProbe?: Probe;
  readinessProbe?: Probe;
  startupProbe?: Probe;
  resources: { requests: Record<string, string> };
  securityContext: Record<string, unknown>;
}

interface Variable {
  name: string;
  value?: string;
  valueFrom?: { secretKeyRef?: { name: string; key: string }; fieldRef?: { fieldPath: string } };
}

export interface Pod {
  /** Of the first pod. */
  name: string;
  spec: PodSpec;
}

/** Secrets that do not differ from run to run, and that the examples take from elsewhere. */
export const givenSecrets = {
  secrets: {
    apiKeys: ["shop:key-of-the-shop", "another-key"],
    deployKey: "key-of-the-deploy-service",
    metricsToken: "token-of-prometheus",
    encryptionKey: Buffer.alloc(32, 1).toString("base64"),
    adminPassword: "password-of-admin",
  },
  rabbitmq: { password: "password-of-rabbitmq" },
  postgresql: { password: "password-of-postgres" },
};

const otherSecrets: Record<string, Record<string, string>> = {
  "slipway-broker": { "queue-url": "kafka://a:9092,b:9092,c:9092" },
  "slipway-runner": { "runner-token": "token-of-the-runner" },
};

export interface Rendered {
  exitCode: number;
  output: string;
  problems: string;
}

/** Runs Helm with values in addition to those of the file. */
export async function runHelm(helm: string, args: string[], values: object = {}): Promise<Rendered> {
  const child = Bun.spawn([helm, ...args, "--values", "-"], {
    cwd: chartFolder,
    stdin: new Blob([JSON.stringify(values)]),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [output, problems] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  return { exitCode: await child.exited, output, problems };
}

export function templateArguments(example: Example): string[] {
  return ["template", "demo", ".", "--namespace", "push", "--values", `examples/${example}.yaml`];
}

export function readManifests(text: string): Manifest[] {
  const documents = Bun.YAML.parse(text) as Manifest | Manifest[];
  return (Array.isArray(documents) ? documents : [documents]).filter((document) => document !== null);
}

export async function renderExample(helm: string, example: Example): Promise<Manifest[]> {
  const { output, problems } = await runHelm(helm, templateArguments(example), givenSecrets);
  if (problems) throw new Error(problems);
  return readManifests(output);
}

export function podsOf(manifests: Manifest[]): Pod[] {
  return manifests.flatMap(({ kind, metadata, spec }) =>
    spec?.template
      ? [{ name: `${metadata.name}${kind === "StatefulSet" ? "-0" : ""}`, spec: spec.template.spec }]
      : [],
  );
}

/** The pods that run the program, by the name of their container. */
export function programPods(manifests: Manifest[]): Map<string, Pod & { container: Container }> {
  const pods = podsOf(manifests).flatMap((pod) =>
    pod.spec.containers
      .filter(({ args }) => args)
      .map((container) => [container.name, { ...pod, container }] as const),
  );
  return new Map(pods);
}

/** The environment of a container as Kubernetes makes it. */
export function environmentIn(
  { name, container }: { name: string; container: Container },
  manifests: Manifest[],
) {
  const secretOf = (secret: string, key: string): string => {
    const made = manifests.find(({ kind, metadata }) => kind === "Secret" && metadata.name === secret);
    const text = made
      ? Buffer.from(made.data?.[key] ?? "", "base64").toString()
      : otherSecrets[secret]?.[key];
    if (!text) throw new Error(`${name}: the Secret ${secret} has no ${key}`);
    return text;
  };
  const textOf = ({ value, valueFrom }: Variable): string => {
    if (valueFrom?.secretKeyRef) return secretOf(valueFrom.secretKeyRef.name, valueFrom.secretKeyRef.key);
    if (valueFrom?.fieldRef?.fieldPath === "metadata.name") return name;
    return value ?? "";
  };
  return Object.fromEntries(container.env.map((variable) => [variable.name, textOf(variable)]));
}

/** The settings file that is mounted into every pod of the program. */
export function settingsFileOf(manifests: Manifest[]): string {
  return manifests.find(({ kind }) => kind === "ConfigMap")?.data?.["slipway.yaml"] ?? "";
}
