import { expect, test } from "bun:test";
import { recognisedHost } from "../../src/git-host/recognise.ts";
import { presetsFor } from "../../src/set-up/presets.ts";
import { presetsIn } from "../../src/set-up/programs.ts";

const presets = (names: string[], packageJson = "", procfile = "") =>
  presetsFor(
    names,
    new Map([
      ["package.json", packageJson],
      ["Procfile", procfile],
    ]),
    "shop",
  );
const namesOf = (files: string[], packageJson = "") => presets(files, packageJson).map(({ name }) => name);

test("the files in the root of a repository suggest its stages, containers first", () => {
  expect(namesOf(["README.md"])).toEqual([]);
  expect(namesOf(["compose.yaml", "Dockerfile", "package.json"])).toEqual([
    "compose",
    "dockerfile",
    "node-static",
  ]);
  expect(namesOf(["docker-compose.yml"])).toEqual(["compose"]);
  expect(namesOf(["pom.xml"])).toEqual(["maven"]);
  expect(namesOf(["build.gradle.kts", "gradlew"])).toEqual(["gradle"]);
  expect(namesOf(["go.mod", "go.sum"])).toEqual(["go"]);
  expect(namesOf(["index.html"])).toEqual(["static"]);
  expect(namesOf(["package.json"], '{"scripts":{"start":"node ."}}')).toEqual(["node"]);
});

test("the lock file chooses the package manager, and a broken package.json is no error", () => {
  const scripts = JSON.stringify({ scripts: { build: "vite build", start: "node ." } });
  const buildOf = (lock: string) => presets(["package.json", lock], scripts)[0]?.build.split("\n")[0];
  expect(buildOf("package-lock.json")).toStartWith("npm ci");
  expect(buildOf("none")).toStartWith("npm install");
  expect(buildOf("pnpm-lock.yaml")).toBe("corepack pnpm install --frozen-lockfile");
  expect(buildOf("yarn.lock")).toBe("corepack yarn install --immutable");
  expect(buildOf("bun.lock")).toBe("bun install --frozen-lockfile");
  for (const broken of ["{", "null", "[]", '{"scripts":7}', '{"scripts":null}'])
    expect(namesOf(["package.json"], broken)).toEqual(["node-static"]);
});

test("stages that use the engine or a folder of the machine are meant for host steps, and no build is", () => {
  const files = ["compose.yaml", "Dockerfile", "pom.xml", "build.gradle", "go.mod", "index.html"];
  for (const { name, build, deploy, start, hostStages } of [
    ...presets(files),
    ...presets(["package.json"]),
    ...presets(["package.json"], '{"scripts":{"start":"node ."}}'),
  ]) {
    const changesMachine = (script: string) => /docker|SITE_DIR/.test(script);
    expect([name, changesMachine(build)]).toEqual([name, false]);
    expect([name, hostStages.includes("deploy")]).toEqual([name, changesMachine(deploy)]);
    expect([name, hostStages.includes("start")]).toEqual([name, changesMachine(start)]);
  }
});

test("what stays up is a service in the foreground, with a port that is checked", () => {
  const services = [
    ...presets(["pom.xml", "build.gradle", "go.mod"]),
    ...presets(["package.json"], '{"scripts":{"start":"node ."}}'),
  ].map(({ services: found, start }) => [start, Object.keys(found), found.web?.command, found.web?.port]);
  expect(services).toEqual([
    ["", ["web"], expect.stringContaining("ls target/*.jar"), 8080],
    ["", ["web"], expect.stringContaining("ls build/libs/*.jar"), 8080],
    ["", ["web"], "./service", 8080],
    ["", ["web"], "npm run start", "$PORT"],
  ]);
});

test("the output folder of a site comes from its build, and one that cannot be known is empty", () => {
  const outputOf = (build: string, packages: string[] = [], configs: Record<string, string> = {}) => {
    const devDependencies = Object.fromEntries(packages.map((name) => [name, "1"]));
    const manifest = JSON.stringify({ scripts: { build }, devDependencies });
    const texts = new Map(Object.entries({ "package.json": manifest, ...configs }));
    return presetsFor(["package.json"], texts, "shop")[0]?.env.OUTPUT_DIR;
  };
  expect(outputOf("vite build", ["vite"])).toBe("dist");
  expect(outputOf("vite build --outDir=web/out/", ["vite"])).toBe("web/out");
  expect(outputOf("vite build", ["vite"], { "vite.config.ts": 'build: { outDir: "./build" }' })).toBe(
    "build",
  );
  expect(outputOf("vite build", ["vite"], { "vite.config.ts": "build: { outDir: folder }" })).toBe("");
  expect(outputOf("vite build", ["vite"], { "vite.config.ts": 'build: { outDir: "../public" }' })).toBe("");
  expect(outputOf("react-scripts build", ["react-scripts"])).toBe("build");
  expect(outputOf("gatsby build", ["gatsby"])).toBe("public");
  expect(outputOf("astro build", ["vite", "astro"])).toBe("dist");
  expect(outputOf("eleventy", ["vite", "@11ty/eleventy"])).toBe("_site");
  expect(outputOf("next build", ["next"])).toBe("out");
  expect(outputOf("node build.mjs")).toBe("");
  expect(presets(["package.json"], '{"devDependencies":{"vite":"1"}}')[0]?.env).toEqual({
    ...{ OUTPUT_DIR: "", SITE_DIR: "" },
  });
  expect(presets(["index.html"])[0]?.env).toEqual({ OUTPUT_DIR: ".", SITE_DIR: "" });
});

test("the package of a Go program is its folder, or asked for", () => {
  expect(presets(["go.mod", "main.go"])[0]).toMatchObject({ build: "go build -o service .", env: {} });
  expect(presets(["go.mod", "main_test.go"])[0]).toMatchObject({
    build: 'go build -o service "$MAIN_PACKAGE"',
    env: { MAIN_PACKAGE: "" },
  });
});

test("programs in folders are found, those of tests and dependencies are not", () => {
  const start = '{"scripts":{"start":"node ."}}';
  const inTree = (files: Record<string, string>) =>
    presetsIn(Object.keys(files), new Map(Object.entries(files)), "shop").map(
      ({ name, folder, because, build, services, cache }) => ({
        ...{ name, folder, because, build, cache },
        command: services.web?.command,
      }),
    );
  expect(inTree({ "README.md": "", "apps/my web/package.json": start })).toEqual([
    {
      ...{ name: "node", folder: "apps/my web", because: "apps/my web/package.json" },
      build: "cd 'apps/my web'\nnpm install --cache .npm --no-audit --no-fund",
      cache: ["apps/my web/.npm"],
      command: "cd 'apps/my web' && npm run start",
    },
  ]);
  const others = ["node_modules/a", "tests/b", "a/b/c", ".hidden", "examples/d"];
  expect(inTree(Object.fromEntries(others.map((folder) => [`${folder}/package.json`, start])))).toEqual([]);
  const foldersOf = (files: Record<string, string>) => inTree(files).map(({ folder }) => folder);
  expect(foldersOf({ "go.mod": "", "worker/Procfile": "job: ./run", "public/index.html": "" })).toEqual([
    ...["", "worker"],
  ]);
  expect(foldersOf({ "README.md": "", "site/index.html": "" })).toEqual(["site"]);
  // The packages of a workspace share its lock file, and are what is deployed.
  const workspace = inTree({
    "package.json": '{"workspaces":["apps/*"],"scripts":{"build":"turbo build"}}',
    "package-lock.json": "{}",
    "apps/api/package.json": start,
  });
  expect(workspace.map(({ folder, build }) => [folder, build])).toEqual([
    ["apps/api", "cd apps/api\nnpm ci --cache .npm --no-audit --no-fund"],
  ]);
});

test("each line of a Procfile is a service; release is a part of the deploy", () => {
  const text = [
    "# processes",
    "release: ./manage.py migrate",
    "web: gunicorn shop.wsgi --bind 0.0.0.0:$PORT\r",
    "Mail_Worker:  celery -A shop worker",
    "cron1: 0 * * * * ./hourly",
    "static: public",
    "not a line",
    "empty:",
  ].join("\n");
  const [python, ...others] = presets(["Procfile", "requirements.txt", "go.mod"], "", text);
  expect(others.map(({ name }) => name)).toEqual(["go"]);
  expect(python).toMatchObject({ name: "procfile", because: "Procfile", start: "", hostStages: [] });
  expect(python?.build).toBe("python3 -m venv .venv\n.venv/bin/pip install -r requirements.txt");
  expect(python?.deploy).toBe(". .venv/bin/activate && ./manage.py migrate");
  expect(Object.keys(python?.services ?? {})).toEqual(["web", "mail-worker"]);
  expect(python?.services.web).toMatchObject({
    command: ". .venv/bin/activate && gunicorn shop.wsgi --bind 0.0.0.0:$PORT",
    port: "$PORT",
    check: { tcp: "$PORT", within: 60 },
  });
  expect(python?.services["mail-worker"]).toMatchObject({
    command: ". .venv/bin/activate && celery -A shop worker",
    ...{ port: "none", check: null },
  });
  const [node] = presets(["Procfile", "package.json"], '{"scripts":{"build":"x"}}', "worker: node a.js");
  expect([node?.build, node?.services.worker?.command]).toEqual([
    "npm install --cache .npm --no-audit --no-fund\nnpm run build",
    "node a.js",
  ]);
  // Without a process there is nothing to suggest.
  expect(presets(["Procfile"], "", "release: true\nstatic: public")).toEqual([]);
});

test("the host of a clone URL is recognised by its name", () => {
  expect(recognisedHost("https://github.com/ann/shop.git")).toBe("github");
  expect(recognisedHost("git@gitlab.com:ann/shop.git")).toBe("gitlab");
  expect(recognisedHost("ssh://git@gitlab.example.com:2222/ann/shop.git")).toBe("gitlab");
  expect(recognisedHost("https://gitee.com/ann/shop")).toBe("gitee");
  expect(recognisedHost("https://codeberg.org/ann/shop")).toBe("gitea");
  expect(recognisedHost("https://forgejo.example.com/ann/shop")).toBe("gitea");
  expect(recognisedHost("https://git.example.com/github/shop")).toBeNull();
  expect(recognisedHost("https://notgithub.com/ann/shop")).toBeNull();
  expect(recognisedHost("/srv/git/shop.git")).toBeNull();
});
