import { afterAll, expect, test } from "bun:test";
import { parse } from "yaml";
import type { ServiceReport } from "../../src/model/service/service.ts";
import { buildCli } from "../support/cli.ts";
import { examplesOf } from "../support/page-examples.ts";
import { main } from "../support/program.ts";
import { sampleUrl } from "../support/protocol-scene.ts";
import { answerOutput } from "../support/service-output.ts";
import { startServiceScene } from "../support/service-scene.ts";

const scene = await startServiceScene();
const { server, runner, report, service } = scene;
const output = answerOutput(scene);
const shop = await scene.deployed(["web", "worker"], { name: "shop" });
const blog = await scene.deployed(["site"], { name: "blog" });
let reported: ServiceReport[] = [
  service(shop),
  service(shop, { name: "worker", state: "down", lastExit: "1", port: null }),
  service(blog, { name: "site" }),
];
await report(...reported);
/** As the runner does every ten seconds. */
const reporting = setInterval(() => void report(...reported), 5000);
afterAll(async () => {
  clearInterval(reporting);
  await server.stop();
});
const { token } = await server.admin.expect<{ token: string }>(201, "POST", "/api/tokens", {
  ...{ name: "shell", scopes: ["write"] },
});
const access = { SLIPWAY_URL: server.url, SLIPWAY_TOKEN: token };
const slipway = buildCli(access);

test("service list shows each service with its state and why; the project is given by name or id", async () => {
  const listed = await slipway(["service", "list", "shop"]);
  expect(listed).toMatchObject({ exitCode: 0, stderr: "" });
  const [titles = "", web = "", worker = ""] = listed.stdout.split("\n");
  expect(titles.trim().split(/ {2,}/)).toEqual([
    ...["NAME", "STATE", "SINCE", "COMMIT", "RESTARTS", "MEGABYTES", "CPU", "PORT", "RUNNER", "WHY"],
  ]);
  expect(web).toMatch(/^web +serving .* 20000 +by hand/);
  expect(worker).toMatch(/^worker +down .*last exit: 1$/);
  const byId = await slipway(["service", "list", String(shop.projectId), "--json"]);
  expect(byId.json()).toMatchObject({ services: [{ name: "web" }, { name: "worker", lastExit: "1" }] });
  const wrong = await slipway(["service", "list", "shopp"]);
  expect(wrong.exitCode).toBe(5);
  expect(wrong.stderr).toContain('There is no project "shopp" that you may view');
});

test("service stop creates a task of its own lane, follows it, and needs a name where there are several", async () => {
  const several = await slipway(["service", "stop", "shop"]);
  expect(several.exitCode).toBe(2);
  expect(several.stderr).toContain("name one of them: web, worker.");
  const stopping = slipway(["service", "stop", "blog", "--follow"]);
  const held = await runner.claim();
  if (!held) throw new Error("there is no task");
  expect(held.action).toEqual({ type: "stop", services: ["site"] });
  await runner.call("stage", held, { stage: "start", step: "site", state: "success", exitCode: 0 });
  await runner.call("finish", held, { state: "success", reason: "" });
  reported = reported.map((each) => (each.name === "site" ? { ...each, state: "stopped" } : each));
  await report(...reported);
  const stopped = await stopping;
  expect(stopped.exitCode).toBe(0);
  expect(stopped.stderr).toContain(`Task ${held.taskId} ended as success.`);
  expect((await slipway(["service", "list", "blog"])).stdout).toMatch(/site +stopped/);
  const none = await slipway(["service", "restart", "blog", "nothing"]);
  expect(none).toMatchObject({ exitCode: 5, stderr: expect.stringContaining("There is no service nothing") });
});

test("service logs prints the last lines with marks, searches, and follows", async () => {
  output.mark("release", shop.taskId);
  output.write("one", "two", "three");
  output.mark("start", shop.taskId);
  output.write("\u001b[2Jfour");
  const last = await slipway(["service", "logs", "shop", "web", "--lines", "2"]);
  expect(last.exitCode).toBe(0);
  const [first, mark, second] = last.stdout.trim().split("\n");
  expect(first).toBe("three");
  expect(mark).toMatch(/^--- .*: started ---$/);
  expect(second).toContain("[2Jfour");
  expect(last.stdout).not.toContain("\u001b[2J");
  const found = await slipway(["service", "logs", "shop", "web", "--search", "TW", "--json"]);
  expect(found.stdout.split("\n").filter((line) => line.includes('"text"'))).toEqual([
    expect.stringContaining('"text":"two"'),
  ]);
  expect((await slipway(["service", "logs", "shop", "web", "--lines", "0"])).exitCode).toBe(2);

  const child = Bun.spawn([process.execPath, main, "service", "logs", "-f", "shop", "web", "--lines", "1"], {
    env: { PATH: process.env.PATH ?? "", ...access },
    stdout: "pipe",
    stderr: "inherit",
  });
  let printed = "";
  const words = ["four", "five", "six"];
  for await (const chunk of child.stdout) {
    printed += Buffer.from(chunk).toString();
    while (words[0] !== undefined && printed.includes(words[0])) {
      words.shift();
      if (words[0] !== undefined) output.write(words[0]);
    }
    if (words.length === 0) break;
  }
  child.kill();
  await child.exited;
  expect(printed.match(/four|five|six/g)).toEqual(["four", "five", "six"]);
});

test("project exec prints what the command writes, and fails as it fails", async () => {
  async function run(state: string, exitCode: number) {
    const running = slipway(["project", "exec", "shop", "--", "node", "seed.js", "--force"]);
    const held = await runner.claim();
    if (!held) throw new Error("there is no task");
    expect(held.action).toMatchObject({ type: "exec", command: ["node", "seed.js", "--force"] });
    const at = new Date().toISOString();
    const logged = await runner.call("log", held, {
      from: 0,
      lines: [
        { stage: "system", at, text: "the runner prepares" },
        { stage: "start", step: "exec", at, text: "3 rows" },
      ],
    });
    expect(logged.status).toBe(200);
    await runner.call("stage", held, { stage: "start", step: "exec", state, exitCode });
    await runner.call("finish", held, { state, reason: state === "success" ? "" : "exit code 7" });
    return { held, ...(await running) };
  }
  const done = await run("success", 0);
  expect(done).toMatchObject({ exitCode: 0, stdout: "3 rows\n" });
  expect(done.stderr).toContain(`Task ${done.held.taskId} runs the command.\nthe runner prepares\n`);
  const failed = await run("failed", 7);
  expect(failed).toMatchObject({ exitCode: 1, stdout: "3 rows\n" });
  expect(failed.stderr).toContain(`Task ${failed.held.taskId} ended as failed. exit code 7`);
});

test("docs/services.md: its pipeline is accepted, and its commands do what the page says", async () => {
  const [pipeline, commands] = await examplesOf("services.md");
  const made = await server.admin.expect<{ pipeline: { start: Record<string, unknown> } }>(
    ...([201, "POST", "/api/projects"] as const),
    { name: "page", git: { url: sampleUrl }, pipeline: parse(pipeline?.text ?? "") },
  );
  expect(Object.keys(made.pipeline.start)).toEqual(["web", "worker"]);
  const lines = (commands?.text ?? "").trim().split("\n");
  const left = new Set(lines);
  for (const line of lines) {
    const [program, ...args] = line.split(" ");
    expect(program).toBe("slipway");
    // Followed and executed in the tests above.
    if (args.includes("-f") || args.includes("exec")) continue;
    expect(await slipway(args)).toMatchObject({ exitCode: 0 });
    left.delete(line);
  }
  expect([...left]).toEqual([
    "slipway service logs shop web -f",
    "slipway project exec shop -- node seed.js",
  ]);
});
