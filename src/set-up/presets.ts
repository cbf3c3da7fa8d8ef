import { parseJson } from "../json.ts";
import { completeCheck, completeService, type Service, type ServiceCheck } from "../model/service/service.ts";
import type { StageName } from "../model/stage/stage-name.ts";
import { outputFolder, toolConfigs } from "./output-folder.ts";
import { readProcfile } from "./procfile.ts";

export const presetNames = [
  "procfile",
  "compose",
  "dockerfile",
  "node",
  "node-static",
  "maven",
  "gradle",
  "go",
  "static",
] as const;
export type PresetName = (typeof presetNames)[number];

/** Scripts that suit a repository, by stage. The user can change each of them before and after they are saved. */
export interface Preset extends Record<StageName, string> {
  name: PresetName;
  /** The file that suggests it. */
  because: string;
  /** Where its program is in the repository; empty: the root. */
  folder: string;
  /** What stays up, instead of a script of start. */
  services: Record<string, Service>;
  /** Of the script of start. */
  check: ServiceCheck | null;
  /** Variables that the scripts use. An empty one cannot be known from the repository. */
  env: Record<string, string>;
  cache: string[];
  /** Stages that change the machine itself, which no sandbox lets them. */
  hostStages: Exclude<StageName, "build">[];
}

/** The files whose text a preset depends on. */
export const readFiles = ["package.json", "Procfile", ...toolConfigs];

/** The presets that fit the files in one folder of a repository, best first. `service` is a name for containers. */
export function presetsFor(
  names: readonly string[],
  texts: ReadonlyMap<string, string>,
  service: string,
): Preset[] {
  const first = (...files: string[]) => files.find((file) => names.includes(file));
  const found: Preset[] = [];
  if (names.includes("Procfile"))
    found.push(...procfilePresets(names, texts.get("Procfile") ?? "", texts.get("package.json") ?? ""));
  const compose = first("compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml");
  if (compose !== undefined) found.push(composePreset(compose));
  if (names.includes("Dockerfile")) found.push(dockerfilePreset(service));
  if (names.includes("package.json")) found.push(nodePreset(names, texts));
  if (names.includes("pom.xml")) found.push(mavenPreset(names));
  const gradle = first("build.gradle", "build.gradle.kts");
  if (gradle !== undefined) found.push(gradlePreset(gradle, names));
  if (names.includes("go.mod")) found.push(goPreset(names));
  if (names.includes("index.html") && !names.includes("package.json"))
    found.push(staticPreset({ name: "static", because: "index.html" }, "."));
  return found;
}

const none = {
  ...{ folder: "", build: "", deploy: "", start: "", services: {}, check: null },
  ...{ env: {}, cache: [], hostStages: [] },
};

/** A service at the port that its program listens at, or at a free one if the program reads PORT. */
function web(command: string, port: Service["port"], within: number): Record<string, Service> {
  return { web: completeService({ command, port, check: { tcp: "$PORT", within } }) };
}
/** A sandbox does not show the socket of the engine, so that the build of an image is a part of the deploy. */
const onEngine: Pick<Preset, "hostStages"> = { hostStages: ["deploy", "start"] };

function composePreset(because: string): Preset {
  return {
    ...none,
    name: "compose",
    because,
    deploy: "docker compose build",
    start: "docker compose up --detach --remove-orphans",
    ...onEngine,
  };
}

function dockerfilePreset(service: string): Preset {
  return {
    ...none,
    name: "dockerfile",
    because: "Dockerfile",
    deploy: `docker build --tag ${service}:"$CI_COMMIT" .`,
    start: [
      `docker rm --force ${service} 2>/dev/null || true`,
      `docker run --detach --name ${service} --restart unless-stopped \\`,
      `  --publish 127.0.0.1:"$PORT":"$PORT" --env PORT ${service}:"$CI_COMMIT"`,
    ].join("\n"),
    ...onEngine,
    env: { PORT: "8080" },
    check: completeCheck({ tcp: "127.0.0.1:8080" }),
  };
}

/** Each line is a service; one without a service is no preset. */
function procfilePresets(names: readonly string[], text: string, packageJson: string): Preset[] {
  const { services, deploy } = readProcfile(text);
  if (Object.keys(services).length === 0) return [];
  const { build, cache, enter } = toolsOf(names, packageJson);
  const entered = Object.entries(services).map(([name, service]) => {
    const command = `${enter}${service.command}`;
    return [name, completeService({ ...service, command })] as const;
  });
  return [
    {
      ...none,
      ...{ name: "procfile", because: "Procfile", build, cache },
      deploy: deploy.map(({ script }) => `${enter}${script}`).join("\n"),
      services: Object.fromEntries(entered),
    },
  ];
}

/** How a repository with a Procfile is built. `enter`: what a command needs before it finds its programs. */
function toolsOf(
  names: readonly string[],
  packageJson: string,
): Pick<Preset, "build" | "cache"> & { enter: string } {
  const plain = { cache: [], enter: "" };
  if (names.includes("package.json")) {
    const { install, run, cache } = nodeTools(names);
    const scripts = scriptsIn(packageJson);
    return {
      ...plain,
      build: [install, ...(scripts.includes("build") ? [`${run} build`] : [])].join("\n"),
      cache,
    };
  }
  if (names.includes("requirements.txt"))
    return {
      ...plain,
      build: "python3 -m venv .venv\n.venv/bin/pip install -r requirements.txt",
      enter: ". .venv/bin/activate && ",
    };
  if (names.includes("Gemfile"))
    return { ...plain, build: "bundle config set --local path vendor/bundle\nbundle install", enter: "" };
  if (names.includes("go.mod")) return { ...plain, build: "mkdir -p bin\ngo build -o bin/ ./..." };
  if (names.includes("pom.xml")) return { ...plain, build: mavenPreset(names).build };
  const gradle = names.find((name) => name.startsWith("build.gradle"));
  return { ...plain, build: gradle === undefined ? "" : gradlePreset(gradle, names).build };
}

/** The package manager, from its lock file. */
function nodeTools(names: readonly string[]): { install: string; run: string; cache: string[] } {
  if (names.includes("pnpm-lock.yaml"))
    return { install: "corepack pnpm install --frozen-lockfile", run: "corepack pnpm run", cache: [] };
  if (names.includes("yarn.lock"))
    return { install: "corepack yarn install --immutable", run: "corepack yarn run", cache: [] };
  if (names.includes("bun.lock") || names.includes("bun.lockb"))
    return { install: "bun install --frozen-lockfile", run: "bun run", cache: [] };
  const install = names.includes("package-lock.json") ? "npm ci" : "npm install";
  return { install: `${install} --cache .npm --no-audit --no-fund`, run: "npm run", cache: [".npm"] };
}

function nodePreset(names: readonly string[], texts: ReadonlyMap<string, string>): Preset {
  const { install, run, cache } = nodeTools(names);
  const scripts = scriptsIn(texts.get("package.json") ?? "");
  const build = [install, ...(scripts.includes("build") ? [`${run} build`] : [])].join("\n");
  if (!scripts.includes("start"))
    return {
      ...staticPreset({ name: "node-static", because: "package.json" }, outputFolder(texts)),
      build,
      cache,
    };
  return {
    ...none,
    name: "node",
    because: "package.json",
    build,
    services: web(`${run} start`, "$PORT", 60),
    env: { NODE_ENV: "production" },
    cache,
  };
}

function scriptsIn(packageJson: string): string[] {
  const read = parseJson(packageJson);
  const scripts = typeof read === "object" && read !== null && "scripts" in read ? read.scripts : null;
  return typeof scripts === "object" && scripts !== null ? Object.keys(scripts) : [];
}

/** Jars that are no program: sources, and what a tool repackaged. */
const programJar = (folder: string) =>
  `java -jar "$(ls ${folder}/*.jar | grep -vE -e '-(plain|sources|javadoc)[.]jar$|/original-' | head -n 1)"`;

function mavenPreset(names: readonly string[]): Preset {
  return {
    ...none,
    name: "maven",
    because: "pom.xml",
    build: `${names.includes("mvnw") ? "sh ./mvnw" : "mvn"} --batch-mode package`,
    services: web(programJar("target"), 8080, 120),
  };
}

function gradlePreset(because: string, names: readonly string[]): Preset {
  return {
    ...none,
    name: "gradle",
    because,
    build: `${names.includes("gradlew") ? "sh ./gradlew" : "gradle"} build`,
    services: web(programJar("build/libs"), 8080, 120),
  };
}

/** Without source text in its folder, the package of the program is below it. */
function goPreset(names: readonly string[]): Preset {
  const isHere = names.some((name) => name.endsWith(".go") && !name.endsWith("_test.go"));
  return {
    ...none,
    name: "go",
    because: "go.mod",
    build: `go build -o service ${isHere ? "." : '"$MAIN_PACKAGE"'}`,
    services: web("./service", 8080, 60),
    env: isHere ? {} : { MAIN_PACKAGE: "" },
  };
}

/**
 * Each release is a folder; a link to the current one is replaced in one step. Where a web server looks for the site is known
 * only to those who set it up.
 */
function staticPreset(found: { name: PresetName; because: string }, output: string): Preset {
  return {
    ...none,
    ...found,
    deploy: [
      `release="$SITE_DIR/releases/$CI_TASK_ID"`,
      'mkdir -p "$release"',
      'tar -C "$OUTPUT_DIR" --exclude=./.git -cf - . | tar -C "$release" -xf -',
      'ln -sfn "$release" "$SITE_DIR/current.new"',
      'mv -T "$SITE_DIR/current.new" "$SITE_DIR/current"',
      `ls -1dt "$SITE_DIR"/releases/* | tail -n +6 | xargs -r rm -rf --`,
    ].join("\n"),
    hostStages: ["deploy"],
    env: { OUTPUT_DIR: output, SITE_DIR: "" },
  };
}
