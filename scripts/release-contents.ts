import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import manifest from "../package.json" with { type: "json" };
import { packagesInside } from "../src/app/system/packages-inside.ts";
import { root } from "./executable.ts";

interface Bill {
  serialNumber?: string;
  metadata: { timestamp: string; component: { name: string } };
  components: { "bom-ref": string }[];
  dependencies: { ref: string; dependsOn: string[] }[];
}

/** The SBOM of a release in CycloneDX, without the number, the time and the folder of this build. */
export function billOfMaterials(time: string): string {
  const command = ["npm", "sbom", "--sbom-format=cyclonedx", "--package-lock-only"];
  const { exitCode, stdout, stderr } = Bun.spawnSync(command, { cwd: root });
  if (exitCode !== 0) throw new Error(`npm sbom failed: ${stderr.toString()}`);
  const { serialNumber: _, ...bill } = JSON.parse(stdout.toString()) as Bill;
  // With `--omit=dev`, npm also leaves out packages that both the program and its tools need.
  const inside = new Set(packagesInside().map(({ name, version }) => `${name}@${version}`));
  const own = `${manifest.name}@${manifest.version}`;
  bill.components = bill.components.filter((component) => inside.has(component["bom-ref"]));
  bill.dependencies = bill.dependencies
    .filter(({ ref }) => ref === own || inside.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((name) => inside.has(name)) }));
  bill.metadata.timestamp = time;
  bill.metadata.component.name = manifest.name;
  return `${JSON.stringify(bill, null, 2)}\n`;
}

/** The licences of the packages inside, with their texts. */
export function licenceTexts(): string {
  const own = readFileSync(join(root, "LICENSE"), "utf8");
  const others = packagesInside().map(({ name, version, licence }) =>
    [`${name} ${version} (${licence})`, ...textsOf(name)].join("\n\n"),
  );
  return `${[own, ...others].map((text) => text.trim()).join(`\n\n${"-".repeat(80)}\n\n`)}\n`;
}

function textsOf(name: string): string[] {
  const folder = join(root, "node_modules", name);
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((file) => /^(licen[cs]e|copying|notice)/i.test(file))
    .sort()
    .map((file) => readFileSync(join(folder, file), "utf8").trim());
}
