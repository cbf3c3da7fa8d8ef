import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, chownSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { loadConfig } from "../../src/config/config-load.ts";
import { flushWithinMs } from "../../src/push/drain.ts";
import { adminPassword } from "../support/api-server.ts";
import {
  environmentIn,
  examples,
  givenSecrets,
  type Manifest,
  programPods,
  readManifests,
  renderExample,
  runHelm,
  settingsFileOf,
  templateArguments,
} from "../support/chart.ts";
import { buildCli } from "../support/cli.ts";
import { deployClient } from "../support/deploy-server.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { main } from "../support/program.ts";
import { PushClient } from "../support/push-client.ts";
import { serviceUrl } from "../support/services.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const helm = (await serviceUrl("helm")) ?? "";

function settingsFile(manifests: Manifest[]): string {
  const folder = temporaryFolder("chart-settings");
  chmodSync(folder, 0o755);
  const path = join(folder, "slipway.yaml");
  writeFileSync(path, settingsFileOf(manifests));
  return path;
}

describe.skipIf(!helm)("every container", () => {
  test.each(examples)("has settings that the program accepts: %s", async (example) => {
    const manifests = await renderExample(helm, example);
    const SLIPWAY_CONFIG = settingsFile(manifests);
    const pods = programPods(manifests);
    expect(pods.size).toBe({ single: 2, "push-cluster": 1, everything: 3 }[example]);
    for (const [name, pod] of pods) {
      const check = await buildCli({ ...environmentIn(pod, manifests), SLIPWAY_CONFIG })(["config", "check"]);
      expect([name, check.stdout, check.stderr]).toEqual([name, "The settings are right.\n", ""]);
    }
  });

  test.each(examples)("has longer to stop than the program needs: %s", async (example) => {
    const manifests = await renderExample(helm, example);
    for (const [name, pod] of programPods(manifests)) {
      const { SLIPWAY_CONFIG: _, SLIPWAY_ADMIN_PASSWORD: __, ...env } = environmentIn(pod, manifests);
      const config = await loadConfig({ env, flags: {} });
      const drainMs = name === "gateway" ? config["push.drain-delay"] + config["push.drain-period"] : 0;
      const waitMs = Number(pod.container.lifecycle?.preStop.exec.command[1] ?? 0) * 1000;
      const neededMs = waitMs + drainMs + flushWithinMs.besideOthers;
      expect(pod.spec.terminationGracePeriodSeconds * 1000).toBeGreaterThan(neededMs);
    }
  });
});

/** Without an account, as in a cluster, whose user may be anybody here: its processes would count as those of other tests. */
const uid = 60_999;

describe.skipIf(!helm || process.getuid?.() !== 0)("the pods as processes of an ordinary user", () => {
  const children: Bun.Subprocess[] = [];
  const folder = temporaryFolder("chart-pods");
  const address = (name: string) => `127.0.0.1:${ports[name]}`;
  const ports: Record<string, number> = { gateway: freePort(), deploy: freePort() };
  let manifests: Manifest[] = [];
  let settings = "";

  /** Starts the container of a pod with its environment, at addresses of this machine. */
  function start(name: string, more: Record<string, string> = {}): Bun.Subprocess {
    const pod = programPods(manifests).get(name);
    if (!pod) throw new Error(`there is no pod ${name}`);
    const data = join(folder, name);
    mkdirSync(data);
    chownSync(data, uid, uid);
    const given = Object.entries(environmentIn(pod, manifests)).map(([key, value]) => [
      key,
      value
        .replace("demo-slipway-deploy:8080", address("deploy"))
        .replace("demo-slipway-gateway:8080", address("gateway")),
    ]);
    const child = Bun.spawn(
      [
        "setpriv",
        `--reuid=${uid}`,
        `--regid=${uid}`,
        "--clear-groups",
        "--no-new-privs",
        "--bounding-set=-all",
      ].concat(["--inh-caps=-all", "--", process.execPath, main, ...pod.container.args]),
      {
        cwd: "/",
        env: {
          PATH: process.env.PATH,
          HOME: data,
          ...Object.fromEntries(given),
          SLIPWAY_CONFIG: settings,
          SLIPWAY_DATA_DIR: data,
          ...(ports[name] ? { SLIPWAY_SERVER_LISTEN: address(name) } : {}),
          ...more,
        },
        stdin: "ignore",
        stdout: "ignore",
        stderr: "inherit",
      },
    );
    children.push(child);
    return child;
  }

  async function statusOf(name: string, path: string): Promise<number | undefined> {
    return (await fetch(`http://${address(name)}${path}`).catch(() => null))?.status;
  }

  beforeAll(async () => {
    chmodSync(folder, 0o755);
    const { output } = await runHelm(helm, templateArguments("single"), {
      ...givenSecrets,
      secrets: { ...givenSecrets.secrets, adminPassword },
      gateway: { persistence: { enabled: true }, drain: { delaySeconds: 3600 } },
      runner: { enabled: true, token: "of the test below" },
    });
    manifests = readManifests(output);
    settings = settingsFile(manifests);
  });
  afterAll(async () => {
    for (const child of children) child.kill("SIGKILL");
    await Promise.all(children.map((child) => child.exited));
  });

  test("answer their probes, publish to each other, and a gateway alone ends at once", async () => {
    const gateway = start("gateway");
    start("deploy");
    for (const name of ["gateway", "deploy"]) {
      const { livenessProbe, readinessProbe, startupProbe } =
        programPods(manifests).get(name)?.container ?? {};
      for (const probe of [startupProbe, livenessProbe, readinessProbe]) {
        const path = probe?.httpGet?.path ?? "";
        await eventually(`${path} of ${name}`, async () => (await statusOf(name, path)) === 200);
      }
      const authorization = `Bearer ${givenSecrets.secrets.metricsToken}`;
      const metrics = (headers: Record<string, string>) =>
        fetch(`http://${address(name)}/metrics`, { headers });
      expect((await metrics({ authorization })).status).toBe(200);
      expect((await metrics({})).status).toBe(401);
    }

    const { admin } = await deployClient(`http://${address("deploy")}`, join(folder, "deploy"));
    const { code } = await admin.expect<{ code: string }>(201, "POST", "/api/push/codes", { userId: "42" });
    const client = await PushClient.open(`ws://${address("gateway")}/ws?code=${code}`);
    const published = await fetch(`http://${address("gateway")}/feign/publish`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-api-key": "another-key" },
      body: JSON.stringify({ targetType: "user", target: "42", data: "from the shop" }),
    });
    expect(published.status).toBe(200);
    await eventually("the message arrives", () => client.frames.includes("from the shop"));

    const { token } = await admin.expect<{ token: string }>(201, "POST", "/api/runners", {
      name: "kubernetes",
    });
    start("runner", { SLIPWAY_RUNNER_TOKEN: token });
    await eventually("the runner is connected", async () => {
      const { items } = await admin.expect<{ items: { name: string; online: boolean }[] }>(
        200,
        "GET",
        "/api/runners",
      );
      return items.some(({ name, online }) => name === "kubernetes" && online);
    });

    gateway.kill("SIGTERM");
    await eventually("the client may come back", () => client.closed?.code === 1012);
    expect(await gateway.exited).toBe(0);
  });
});
