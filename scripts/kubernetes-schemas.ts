/**
 * Makes test/fixtures/kubernetes.json, against which the manifests of the chart are checked:
 *
 *   bun scripts/kubernetes-schemas.ts
 *
 * The schemas come from the modules below, by Go's module proxy: of Kubernetes its OpenAPI document, of the Prometheus
 * operator the definition of ServiceMonitor. Only the kinds that the chart uses are kept, without descriptions, and as strict
 * as the server is with `--validate=strict`: a field that is not in the schema is a fault.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const kubernetes = "k8s.io/kubernetes@v1.33.5";
const operator = "github.com/prometheus-operator/prometheus-operator@v0.82.2";
const kinds = [
  ...["apps.v1.Deployment", "apps.v1.StatefulSet", "core.v1.ConfigMap", "core.v1.PersistentVolumeClaim"],
  ...["core.v1.Secret", "core.v1.Service", "core.v1.ServiceAccount", "networking.v1.Ingress", "core.v1.Pod"],
  ...["networking.v1.NetworkPolicy", "policy.v1.PodDisruptionBudget"],
].map((kind) => `io.k8s.api.${kind}`);

type Schema = { [key: string]: unknown };
interface GroupVersionKind {
  group: string;
  version: string;
  kind: string;
}
interface CustomResource {
  spec: {
    group: string;
    names: { kind: string };
    versions: { name: string; schema: { openAPIV3Schema: Schema } }[];
  };
}

const { definitions } = JSON.parse(
  readFileSync(join(folderOf(kubernetes), "api/openapi-spec/swagger.json"), "utf8"),
) as { definitions: Record<string, Schema> };
const monitors = Bun.YAML.parse(
  readFileSync(
    join(folderOf(operator), "example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml"),
    "utf8",
  ),
) as CustomResource;

const kept: Record<string, unknown> = {};
const roots: Record<string, { $ref: string }> = {};
for (const name of kinds) {
  keep(name);
  const names = (definitions[name]?.["x-kubernetes-group-version-kind"] ?? []) as GroupVersionKind[];
  for (const { group, version, kind } of names)
    roots[`${group ? `${group}/` : ""}${version} ${kind}`] = { $ref: `#/definitions/${name}` };
}
for (const { name, schema } of monitors.spec.versions) {
  kept.ServiceMonitor = strict(schema.openAPIV3Schema);
  // The document says only that metadata is an object.
  const { properties } = kept.ServiceMonitor as { properties: Schema };
  properties.metadata = { $ref: "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta" };
  roots[`${monitors.spec.group}/${name} ${monitors.spec.names.kind}`] = {
    $ref: "#/definitions/ServiceMonitor",
  };
}
const document = { from: [kubernetes, operator], kinds: roots, definitions: kept };
writeFileSync(join(import.meta.dir, "../test/fixtures/kubernetes.json"), `${JSON.stringify(document)}\n`);

function folderOf(module: string): string {
  const folder = mkdtempSync(join(tmpdir(), "slipway-go-"));
  const { stdout } = Bun.spawnSync(["go", "mod", "download", "-json", module], { cwd: folder });
  rmSync(folder, { recursive: true });
  const { Dir, Error: fault } = JSON.parse(stdout.toString()) as { Dir?: string; Error?: string };
  if (Dir === undefined) throw new Error(fault ?? `${module} could not be downloaded`);
  return Dir;
}

/** A definition and those that it names. */
function keep(name: string): void {
  if (kept[name] !== undefined) return;
  kept[name] = strict(definitions[name]);
  for (const [, other = ""] of JSON.stringify(kept[name]).matchAll(/"#\/definitions\/([^"]+)"/g)) keep(other);
}

function strict(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(strict);
  if (typeof value !== "object" || value === null) return value;
  const { properties, description: _, ...rest } = value as Schema;
  if (rest.format === "int-or-string") return { type: ["integer", "string"] };
  const isOpen = rest["x-kubernetes-preserve-unknown-fields"] === true;
  const schema: Schema = {};
  for (const [key, entry] of Object.entries(rest)) if (!key.startsWith("x-")) schema[key] = strict(entry);
  if (properties === undefined) return schema;
  schema.properties = Object.fromEntries(
    Object.entries(properties as Schema).map(([key, entry]) => [key, strict(entry)]),
  );
  return isOpen || schema.additionalProperties !== undefined
    ? schema
    : { ...schema, additionalProperties: false };
}
