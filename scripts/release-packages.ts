import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { root } from "./executable.ts";
import { tarOf } from "./tar.ts";

/** What the packages are made of and where; everything in them has this time. */
export interface Packaging {
  version: string;
  /** Of the commit. */
  timeSeconds: number;
  /** Where the packages are written. */
  folder: string;
  /** An empty folder. */
  temporary: string;
  run(command: string[], cwd: string, env?: Record<string, string>): void;
}

/** The Helm chart, as `helm package` would make it, but with the same bytes each time. */
export function writeChart({ version, timeSeconds, folder }: Packaging): void {
  const chart = join(root, "deploy/helm/slipway");
  const files = filesIn(chart).filter((name) => name !== ".helmignore");
  const entries = files.map((name) => ({ name: `slipway/${name}`, bytes: readFileSync(join(chart, name)) }));
  writeFileSync(join(folder, `slipway-${version}.tgz`), Bun.gzipSync(tarOf(entries, timeSeconds)));
}

/** The version that builds the wheel is written into it. */
const wheelBuilder = "setuptools==80.9.0\n";

/** The wheel of the Python client. */
export function writePythonClient({ timeSeconds, folder, temporary, run }: Packaging): void {
  const source = join(temporary, "python");
  // A copy, because a build leaves files behind; its modes are part of the wheel, whatever the umask of the checkout.
  for (const name of filesIn(join(root, "clients/python"))) {
    if (!/^(src\/slipway_push\/[\w.]+|pyproject\.toml|README\.md)$/.test(name)) continue;
    mkdirSync(dirname(join(source, name)), { recursive: true });
    cpSync(join(root, "clients/python", name), join(source, name));
    chmodSync(join(source, name), 0o644);
  }
  const constraints = join(temporary, "constraints.txt");
  writeFileSync(constraints, wheelBuilder);
  const pip = ["python3", "-m", "pip", "--disable-pip-version-check", "--quiet"];
  run([...pip, "wheel", "--no-deps", "--wheel-dir", folder, source], temporary, {
    PIP_CONSTRAINT: constraints,
    SOURCE_DATE_EPOCH: String(timeSeconds),
  });
}

/** The jar of the Java client and its pom, as a Maven repository has them. */
export function writeJavaClient({ version, timeSeconds, folder, temporary, run }: Packaging): void {
  const client = join(root, "clients/java");
  const source = join(client, "src/main/java");
  const classes = join(temporary, "classes");
  const sources = filesIn(source).filter((name) => name.endsWith(".java"));
  run(["javac", "--release", "17", "-encoding", "UTF-8", "-d", classes, ...sources], source);
  mkdirSync(join(classes, "META-INF"));
  cpSync(join(root, "LICENSE"), join(classes, "META-INF/LICENSE"));
  const name = join(folder, `slipway-push-${version}`);
  const date = new Date(timeSeconds * 1000).toISOString().replace(".000Z", "Z");
  run(["jar", "--create", "--file", `${name}.jar`, "--date", date, ...filesIn(classes)], classes);
  cpSync(join(client, "pom.xml"), `${name}.pom`);
}

/** Paths of all files in a folder, in one order on every machine. */
function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => statSync(join(folder, name)).isFile())
    .sort();
}
