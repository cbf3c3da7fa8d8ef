import { parseJson } from "../json.ts";
import type { StartStep } from "../model/pipeline.ts";
import type { StageName } from "../model/stage/stage-name.ts";

export const presetNames = [
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
export interface Preset extends Record<StageName, string>, Pick<StartStep, "previous" | "healthCheck"> {
  name: PresetName;
  /** The file that suggests it. */
  because: string;
  env: Record<string, string>;
  cache: string[];
  /** Stages that change the machine itself, which no sandbox lets them. */
  hostStages: Exclude<StageName, "build">[];
}

/** The files whose text a preset depends on. */
export const readFiles = ["package.json"] as const;

/** The presets that fit the files in the root of a repository, best first. `service` is a name for containers. */
export function presetsFor(
  names: readonly string[],
  texts: ReadonlyMap<string, string>,
  service: string,
): Preset[] {
  const first = (...files: string[]) => files.find((file) => names.includes(file));
  const found: Preset[] = [];
  const compose = first("compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml");
  if (compose !== undefined) found.push(composePreset(compose));
  if (names.includes("Dockerfile")) found.push(dockerfilePreset(service));
  if (names.includes("package.json")) found.push(nodePreset(names, texts.get("package.json") ?? ""));
  if (names.includes("pom.xml")) found.push(mavenPreset(names));
  const gradle = first("build.gradle", "build.gradle.kts");
  if (gradle !== undefined) found.push(gradlePreset(gradle, names));
  if (names.includes("go.mod")) found.push(goPreset);
  if (names.includes("index.html") && !names.includes("package.json"))
    found.push(staticPreset("static", "index.html", "mkdir -p dist\ncp -R *.html dist/", service));
  return found;
}

const none = { build: "", deploy: "", start: "", env: {}, cache: [], healthCheck: null, hostStages: [] };
/** A sandbox does not show the socket of the engine, so that the build of an image is a part of the deploy. */
const onEngine: Pick<Preset, "previous" | "hostStages"> = {
  previous: "keep",
  hostStages: ["deploy", "start"],
};

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
    healthCheck: { type: "tcp", host: "127.0.0.1", port: 8080, timeoutSeconds: 60 },
  };
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

function nodePreset(names: readonly string[], packageJson: string): Preset {
  const { install, run, cache } = nodeTools(names);
  const scripts = scriptsIn(packageJson);
  const build = [install, ...(scripts.includes("build") ? [`${run} build`] : [])].join("\n");
  if (!scripts.includes("start"))
    return { ...staticPreset("node-static", "package.json", build, "site"), cache };
  return {
    ...none,
    name: "node",
    because: "package.json",
    build,
    start: `${run} start &`,
    previous: "stop-first",
    env: { NODE_ENV: "production", PORT: "3000" },
    cache,
    healthCheck: { type: "tcp", host: "127.0.0.1", port: 3000, timeoutSeconds: 60 },
  };
}

function scriptsIn(packageJson: string): string[] {
  const read = parseJson(packageJson);
  const scripts = typeof read === "object" && read !== null && "scripts" in read ? read.scripts : null;
  return typeof scripts === "object" && scripts !== null ? Object.keys(scripts) : [];
}

function mavenPreset(names: readonly string[]): Preset {
  return {
    ...none,
    name: "maven",
    because: "pom.xml",
    build: `${names.includes("mvnw") ? "sh ./mvnw" : "mvn"} --batch-mode package`,
    start: 'java -jar "$(ls target/*.jar | head -n 1)" &',
    previous: "stop-first",
    env: { PORT: "8080" },
    healthCheck: { type: "tcp", host: "127.0.0.1", port: 8080, timeoutSeconds: 120 },
  };
}

function gradlePreset(because: string, names: readonly string[]): Preset {
  return {
    ...none,
    name: "gradle",
    because,
    build: `${names.includes("gradlew") ? "sh ./gradlew" : "gradle"} build`,
    start: 'java -jar "$(ls build/libs/*.jar | head -n 1)" &',
    previous: "stop-first",
    env: { PORT: "8080" },
    healthCheck: { type: "tcp", host: "127.0.0.1", port: 8080, timeoutSeconds: 120 },
  };
}

const goPreset: Preset = {
  ...none,
  name: "go",
  because: "go.mod",
  build: "go build -o service .",
  start: "./service &",
  previous: "stop-first",
  env: { PORT: "8080" },
  healthCheck: { type: "tcp", host: "127.0.0.1", port: 8080, timeoutSeconds: 60 },
};

/** Each release is a folder; a link to the current one is replaced in one step. */
function staticPreset(name: PresetName, because: string, build: string, service: string): Preset {
  return {
    ...none,
    name,
    because,
    build,
    deploy: [
      `site="$SITE_DIR"`,
      'release="$site/releases/$CI_TASK_ID"',
      'mkdir -p "$site/releases"',
      'cp -R dist "$release"',
      'ln -sfn "$release" "$site/current.new"',
      'mv -T "$site/current.new" "$site/current"',
      `ls -1dt "$site"/releases/* | tail -n +6 | xargs -r rm -rf --`,
    ].join("\n"),
    previous: "keep",
    hostStages: ["deploy"],
    env: { SITE_DIR: `/srv/www/${service}` },
  };
}
