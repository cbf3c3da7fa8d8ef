import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, readdirSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { testImage } from "../support/podman.ts";
import { isAlive, signalIfAlive } from "../support/process-watch.ts";
import {
  manageUnit,
  pidsOn,
  type Recipe,
  RecipeRun,
  readRecipe,
  restartOf,
  textAt,
  writeSystemctl,
} from "../support/recipe-scene.ts";
import { startNginx } from "../support/reverse-proxies.ts";
import { type ServerProcess, startServerProcess } from "../support/server-process.ts";
import { installPackages } from "../support/service-install.ts";
import { type RunningService, serviceFolder } from "../support/service-process.ts";
import { serviceUrl } from "../support/services.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { makeTestUser } from "../support/test-user.ts";

const nginx = await serviceUrl("nginx");
const podman = await serviceUrl("podman");
const user = await makeTestUser();
if (Bun.which("javac") === null) await installPackages("default-jdk-headless");

const folder = temporaryFolder("recipes");
const systemctl = join(folder, "bin/systemctl");
const runs: RecipeRun[] = [];
const ports: number[] = [];
let server: ServerProcess;

beforeAll(async () => {
  // Workers of nginx and the user of the unit read releases below this folder.
  chmodSync(folder, 0o755);
  const env = { PATH: `${join(folder, "bin")}:${process.env.PATH}` };
  const settings = { "runner-isolation": "auto", "runner-host-steps": "true" };
  server = await startServerProcess(join(folder, "data"), settings, [], env);
});
afterAll(async () => {
  await server.end("SIGINT");
  for (const pid of ports.flatMap(pidsOn)) signalIfAlive(pid, "SIGKILL");
});

function newPort(): number {
  const port = freePort();
  ports.push(port);
  return port;
}

async function begin(recipe: Recipe): Promise<RecipeRun> {
  const run = await RecipeRun.create(server, recipe);
  runs.push(run);
  return run;
}

interface Proof {
  run: RecipeRun;
  /** Where the commit is served. */
  url: string;
  /** Processes of the service. */
  pids(): number[];
  change: Record<string, string>;
  broken: Record<string, string>;
}

/** Two deploys and a failing one: the new commit serves, the earlier processes are gone, and what failed is rolled back. */
async function prove({ run, url, pids, change, broken }: Proof): Promise<string> {
  const first = await run.deploy();
  expect(await textAt(url)).toBe(first);
  const earlier = pids();
  expect(earlier.length).toBeGreaterThan(0);
  const second = await run.deploy(change);
  expect(await textAt(url)).toBe(second);
  expect(await run.liveCommit()).toBe(second);
  expect(earlier.filter(isAlive)).toEqual([]);
  const reason = await run.deployBroken(broken);
  expect(reason).toContain(`${second.slice(0, 7)} is serving`);
  expect(await textAt(url)).toBe(second);
  expect(await run.liveCommit()).toBe(second);
  return reason;
}

/** Lives for a second, so that the runner sees it. */
const throws = 'setTimeout(() => { throw new Error("no database"); }, 1000);\n';

test("Node service", async () => {
  const port = newPort();
  const recipe = await readRecipe("node.md", { "3000": String(port) });
  await prove({
    run: await begin(recipe),
    url: `http://127.0.0.1:${port}/version`,
    pids: () => pidsOn(port),
    change: { "server.js": recipe.files["server.js"]?.replace("Hello", "Welcome") ?? "" },
    broken: { "server.js": throws },
  });
});

test("Java program", async () => {
  const port = newPort();
  const recipe = await readRecipe("java.md", { "8085": String(port) });
  const source = recipe.files["src/Hello.java"] ?? "";
  await prove({
    run: await begin(recipe),
    url: `http://127.0.0.1:${port}/version`,
    pids: () => pidsOn(port),
    change: { "src/Hello.java": `// Changed\n${source}` },
    broken: { "src/Hello.java": source.replace("server.start();", "System.exit(1);") },
  });
});

describe.skipIf(!nginx)("with nginx", () => {
  let proxy: RunningService | undefined;
  afterAll(() => proxy?.stop());

  test("Node service behind nginx: no request fails during the switch", async () => {
    const port = freePort();
    const place = join(folder, "behind");
    mkdirSync(place);
    writeFileSync(join(place, "upstream.conf"), "server 127.0.0.1:9;\n");
    const recipe = await readRecipe("node-behind-nginx.md", { "8082": String(port), "/srv/hello": place });
    const own = serviceFolder("nginx");
    proxy = await startNginx({ executable: nginx ?? "", port }, own, recipe.files["hello.conf"] ?? "");
    writeSystemctl(systemctl, { "reload nginx": `exec ${nginx} -p ${own} -c ${own}/nginx.conf -s reload` });
    const upstream = async () =>
      Number(/:(\d+);/.exec(await Bun.file(join(place, "upstream.conf")).text())?.[1]);
    const run = await begin(recipe);
    const url = `http://127.0.0.1:${port}/version`;
    const first = await run.deploy();
    expect(await textAt(url)).toBe(first);
    const earlier = pidsOn(await upstream());
    const answers = new Map<string, number>();
    let isOver = false;
    const asking = (async () => {
      while (!isOver) {
        const answer = await textAt(url).catch(String);
        answers.set(answer, (answers.get(answer) ?? 0) + 1);
        await Bun.sleep(5); // The pace of the requests.
      }
    })();
    const second = await run.deploy({ "README.md": "changed" });
    isOver = true;
    await asking;
    expect([...answers.keys()].filter((answer) => answer !== first && answer !== second)).toEqual([]);
    // A reload of nginx takes a moment, and the earlier service goes on until it has drained.
    await eventually("the new one answers", async () => (await textAt(url)) === second);
    expect(earlier.length).toBe(1);
    await eventually("the earlier process has ended", () => earlier.filter(isAlive).length === 0);
    const reason = await run.deployBroken({ "server.js": throws });
    expect(reason).toContain("no database");
    expect(await textAt(url)).toBe(second);
    expect(await run.liveCommit()).toBe(second);
    ports.push(await upstream());
    await proxy.stop();
  });

  test("Static site: the link names the new folder, and the old one again when the front page is missing", async () => {
    const port = freePort();
    const site = join(folder, "www");
    mkdirSync(site);
    const recipe = await readRecipe("static-site.md", { "8081": String(port), "/srv/www/hello": site });
    proxy = await startNginx(
      { executable: nginx ?? "", port },
      serviceFolder("nginx"),
      recipe.files["site.conf"] ?? "",
    );
    const run = await begin(recipe);
    const url = `http://127.0.0.1:${port}/version.txt`;
    const first = await run.deploy();
    expect(await textAt(url)).toBe(first);
    const second = await run.deploy({ "public/index.html": "<h1>Welcome</h1>" });
    expect(await textAt(url)).toBe(second);
    expect(await textAt(`http://127.0.0.1:${port}/`)).toBe("<h1>Welcome</h1>");
    await run.repository.git("rm", "-q", "public/index.html");
    const reason = await run.deployBroken({ "public/other.html": "x" });
    expect(reason).toContain(`${second.slice(0, 7)} is serving again`);
    expect(await textAt(url)).toBe(second);
    expect(await run.liveCommit()).toBe(second);
    expect(readlinkSync(join(site, "current"))).toContain(second);
    for (let n = 0; n < 4; n++) await run.deploy({ "public/index.html": String(n) });
    expect(readdirSync(join(site, "releases")).length).toBe(5);
    await proxy.stop();
  });
});

describe.skipIf(!podman)("with podman", () => {
  const name = `slipway-recipe-${process.pid}`;
  const run = (...args: string[]) =>
    Bun.spawnSync(["podman", ...args])
      .stdout.toString()
      .trim();
  afterAll(() => {
    run("pod", "rm", "--force", "--ignore", "--time", "0", name);
    const images = run("images", "--format", "{{.Repository}}:{{.Tag}}", `localhost/${name}`);
    for (const image of images.split("\n").filter(Boolean)) run("rmi", "--force", image);
  });

  /** The settings of podman that this machine needs, and an image for the first container of a pod. */
  function containersConf(): string {
    const file = join(folder, "containers.conf");
    const pause = "localhost/slipway-test/pause:latest";
    const source = join(folder, "pause");
    mkdirSync(source);
    writeFileSync(
      join(source, "Containerfile"),
      `FROM ${testImage}\nSTOPSIGNAL SIGKILL\nCMD ["sleep", "2147483647"]\n`,
    );
    run("build", "--quiet", "--pull=never", "--tag", pause, source);
    const options = (podman ?? "").split(",");
    const limits = options.flatMap((option) => /^--ulimit=(.*)$/.exec(option)?.[1] ?? []);
    const runtime = options.flatMap((option) => /^--runtime=(.*)$/.exec(option)?.[1] ?? []);
    writeFileSync(
      file,
      [
        `[containers]\ndefault_ulimits = ${JSON.stringify(limits)}`,
        `[engine]\ninfra_image = "${pause}"`,
        ...runtime.map((program) => `runtime = "${program}"`),
      ].join("\n"),
    );
    return file;
  }

  test("Podman pod: a new pod takes the place of the old one", async () => {
    const port = freePort();
    const recipe = await readRecipe("podman-pod.md", {
      "8090": String(port),
      "docker.io/library/busybox:1.36": testImage,
      "localhost/hello": `localhost/${name}`,
      "--name hello": `--name ${name}`,
      "--pod hello": `--pod ${name}`,
      "--ignore hello": `--ignore ${name}`,
    });
    recipe.project.env = { CONTAINERS_CONF: containersConf() };
    const broken = recipe.files.Containerfile?.replace('"httpd"', '"httpx"') ?? "";
    const reason = await prove({
      run: await begin(recipe),
      url: `http://127.0.0.1:${port}/version.txt`,
      pids: () => [Number(run("inspect", "--format", "{{.State.Pid}}", `${name}-web`))],
      change: { "public/index.html": "<title>Welcome</title>" },
      broken: { Containerfile: broken },
    });
    expect(reason).toContain("failed");
    expect(run("ps", "--filter", `pod=${name}`, "--format", "{{.Names}}").split("\n")).toContain(
      `${name}-web`,
    );
  });
});

describe("systemd service", () => {
  test("its unit is valid for systemd-analyze verify", async () => {
    if (Bun.which("systemd-analyze") === null) await installPackages("systemd");
    const { files } = await readRecipe("systemd-service.md", { "/usr/bin/node": Bun.which("node") ?? "" });
    const unit = join(folder, "hello.service");
    writeFileSync(unit, files["hello.service"] ?? "");
    const verified = Bun.spawnSync(["systemd-analyze", "verify", unit]);
    const lines = verified.stderr.toString().split("\n");
    expect(lines.filter((line) => line.includes("hello"))).toEqual([]);
  });

  test("its polkit rule allows the runner's user to restart this unit, and nothing else", async () => {
    const { files } = await readRecipe("systemd-service.md", {});
    type Rule = (action: { id: string; lookup(key: string): string }, subject: { user: string }) => unknown;
    const rules: Rule[] = [];
    const polkit = { addRule: (rule: Rule) => rules.push(rule), Result: { YES: "yes" } };
    new Function("polkit", files["50-hello.rules"] ?? "")(polkit);
    const ask = (unit: string, verb: string, name: string, id = "org.freedesktop.systemd1.manage-units") =>
      rules.map((rule) => rule({ id, lookup: (key) => ({ unit, verb })[key] ?? "" }, { user: name }));
    expect(ask("hello.service", "restart", "slipway-runner")).toEqual(["yes"]);
    for (const refused of [
      ask("ssh.service", "restart", "slipway-runner"),
      ask("hello.service", "stop", "slipway-runner"),
      ask("hello.service", "restart", "ann"),
      ask("hello.service", "restart", "slipway-runner", "org.freedesktop.systemd1.manage-unit-files"),
    ])
      expect(refused).toEqual([undefined]);
  });

  test("its scripts, with ExecStart run by a stand-in for systemctl", async () => {
    const port = newPort();
    const place = join(folder, "unit");
    mkdirSync(place);
    const recipe = await readRecipe("systemd-service.md", {
      "3001": String(port),
      "/srv/hello": place,
      "/usr/bin/node": Bun.which("node") ?? "",
    });
    const as = user ? `setpriv --reuid=${user.uid} --regid=${user.gid} --clear-groups --` : "";
    const restart = restartOf(recipe.files["hello.service"] ?? "", place, as);
    const manager = manageUnit(place, restart);
    writeSystemctl(systemctl, { "restart hello.service": manager.command });
    const [start] = recipe.project.pipeline.start as { check: { within: number } }[];
    if (start) start.check.within = 15;
    await prove({
      run: await begin(recipe),
      url: `http://127.0.0.1:${port}/version`,
      pids: () => pidsOn(port),
      change: { "README.md": "changed" },
      broken: { "server.js": throws },
    });
    manager.stop();
  });
});
