/**
 * Records an installation for the tests in this folder. It was run once, with the program before the change after which
 * every database is upgraded; to run it again, check that commit out:
 *
 *   bun test/upgrade/record.ts <folder of the recorded program with its node_modules> <URL of a PostgreSQL server>
 *
 * It needs git, tar and pg_dump, and replaces everything in test/upgrade/recorded but slipway.yaml.
 */
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { Client } from "pg";
import { makeRepository } from "../support/git-repository.ts";
import { runClientSteps } from "./client-steps.ts";
import { type Facts, makeSample, makeScene } from "./recorded-scene.ts";

const [program = "", postgresServer = ""] = process.argv.slice(2);
const bun = join(program, "node_modules/.bin/bun");
const main = join(program, "src/main.ts");
const recorded = join(import.meta.dir, "recorded");
const settingsFile = join(recorded, "slipway.yaml");
const password = "the recorded password of admin";
const work = mkdtempSync(join(tmpdir(), "slipway-recording-"));

/** Starts the program and answers its address. */
async function start(dataDir: string, env: Record<string, string>) {
  const output = Bun.file(join(work, `${crypto.randomUUID()}.log`));
  const child = Bun.spawn([bun, main, "start", "--config", settingsFile, "--data-dir", dataDir], {
    cwd: work,
    env: { PATH: process.env.PATH ?? "", HOME: work, SLIPWAY_ADMIN_PASSWORD: password, ...env },
    stdout: output,
    stderr: "inherit",
  });
  process.once("exit", () => child.kill("SIGKILL"));
  for (let url: string | undefined; ; await Bun.sleep(50)) {
    if (child.exitCode !== null) throw new Error(`the program ended: ${await output.text()}`);
    url = /"url":"([^"]+)"[^\n]*"msg":"listening"/.exec(await output.text())?.[1];
    if (url === undefined) continue;
    return {
      url,
      async end(signal: "SIGTERM" | "SIGKILL") {
        child.kill(signal);
        await child.exited;
      },
    };
  }
}

async function sh(...command: string[]): Promise<string> {
  const child = Bun.spawn(command, { cwd: work, stdout: "pipe", stderr: "inherit" });
  const output = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new Error(`${command.join(" ")} failed`);
  return output;
}

interface Call {
  path: string;
  headers: Record<string, string>;
  body: unknown;
  status: number;
  answer: unknown;
}

/** Runs the real runner of that version through a proxy that records its calls. */
async function runWithRunner(url: string, token: string, run: () => Promise<() => Promise<boolean>>) {
  const calls: Call[] = [];
  const proxy = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 60,
    async fetch(request) {
      const body = await request.text();
      const { pathname } = new URL(request.url);
      const response = await fetch(url + pathname, {
        method: request.method,
        headers: request.headers,
        body,
        signal: request.signal,
      });
      const answer = await response.text();
      const headers = Object.fromEntries(
        [...request.headers].filter(([name]) => !["host", "authorization", "content-length"].includes(name)),
      );
      calls.push({
        path: pathname,
        headers,
        body: JSON.parse(body),
        status: response.status,
        answer: answer === "" ? null : JSON.parse(answer),
      });
      return new Response(answer === "" ? null : answer, {
        status: response.status,
        headers: { "content-type": "application/json" },
      });
    },
  });
  const folder = mkdtempSync(join(work, "runner-"));
  const child = Bun.spawn([bun, main, "runner", "--data-dir", folder], {
    env: {
      PATH: process.env.PATH ?? "",
      HOME: folder,
      SLIPWAY_RUNNER_SERVER: proxy.url.origin,
      SLIPWAY_RUNNER_TOKEN: token,
    },
    stdout: "ignore",
    stderr: "inherit",
  });
  const isDone = await run();
  while (!(await isDone())) await Bun.sleep(100);
  child.kill("SIGTERM");
  await child.exited;
  await proxy.stop(true);
  return calls;
}

function save(name: string, value: unknown): void {
  writeFileSync(join(recorded, name), `${JSON.stringify(value, null, 1)}\n`);
}

async function record(name: "sqlite" | "postgres", databaseUrl: string | null): Promise<Facts> {
  const dataDir = join(work, name, "data");
  mkdirSync(dataDir, { recursive: true });
  const database: Record<string, string> = databaseUrl === null ? {} : { SLIPWAY_DATABASE_URL: databaseUrl };
  const withRunner = await start(dataDir, { ...database, SLIPWAY_RUNNER_ENABLED: "true" });
  const sample = await makeSample(withRunner.url, password);
  await withRunner.end("SIGTERM");

  const repository = await makeRepository();
  await repository.push({ "README.md": "recorded\n" });
  const server = await start(dataDir, database);
  const facts = await makeScene({
    url: server.url,
    dataDir,
    password,
    sample,
    repositoryUrl: repository.url,
    async runWithRunner(token, run) {
      const calls = await runWithRunner(server.url, token, run);
      if (name === "sqlite") save("runner-calls.json", calls);
    },
    async recordClient(token, ids) {
      const answers = await runClientSteps(server.url, token, ids);
      const unexpected = answers.filter(({ status }) => status >= 400).map(({ step }) => step.path);
      if (unexpected.length !== 2) throw new Error(`refused: ${unexpected.join(", ")}`);
      if (name !== "sqlite") return;
      save("client-answers.json", answers);
      save("openapi.json", await (await fetch(`${server.url}/api/openapi.json`)).json());
    },
  });
  await server.end("SIGKILL");

  const backup = join(recorded, `${name}.backup`);
  rmSync(backup, { force: true });
  const child = Bun.spawn([bun, main, "backup", backup, "--data-dir", dataDir], {
    env: { PATH: process.env.PATH ?? "", HOME: work, ...database },
    stdout: "inherit",
    stderr: "inherit",
  });
  if ((await child.exited) !== 0) throw new Error("the backup failed");
  rmSync(join(dataDir, "runner/runner.log"), { force: true });
  await sh(
    "tar",
    "--owner=0",
    "--group=0",
    "-C",
    join(work, name),
    "-czf",
    join(recorded, `${name}.tar.gz`),
    "data",
  );
  if (databaseUrl !== null) {
    const dump = await sh("pg_dump", "--inserts", "--no-owner", "--no-privileges", databaseUrl);
    // Lines for psql alone; the tests send the file through a driver.
    const statements = dump.replaceAll(/^\\.*\n/gm, "");
    writeFileSync(join(recorded, "postgres.sql.gz"), gzipSync(statements, { level: 9 }));
  }
  return facts;
}

/** The runner of that version as one file, so that it can run without its sources. */
async function bundleRunner(): Promise<void> {
  const copy = join(work, "program");
  cpSync(join(program, "src"), join(copy, "src"), { recursive: true });
  cpSync(join(program, "package.json"), join(copy, "package.json"));
  await sh("ln", "-s", resolve(program, "node_modules"), join(copy, "node_modules"));
  const entry = join(copy, "src/runner-entry.ts");
  writeFileSync(
    entry,
    `import { Command } from "commander";
import { runGuardProcess } from "./cli/guard-process.ts";
import { runReaperProcess } from "./cli/reaper-process.ts";
import { addRunnerCommand } from "./cli/runner-command.ts";
import { guardCommand, reaperCommand } from "./runner/process/helper-commands.ts";
const [, , command, argument] = process.argv;
if (command === guardCommand) await runGuardProcess(argument);
else if (command === reaperCommand) await runReaperProcess(argument);
else {
  const program = new Command("slipway");
  addRunnerCommand(program);
  await program.parseAsync();
}
`,
  );
  writeFileSync(
    join(copy, "src/own-command.ts"),
    "export const ownCommand = () => [process.execPath, Bun.main];\nexport const ownFolder = () => null;\n",
  );
  const output = join(recorded, "runner.js");
  await sh(bun, "build", entry, "--target=bun", "--minify", `--outfile=${output}`);
  // Bundled libraries contain the path of their folder.
  writeFileSync(output, (await Bun.file(output).text()).replaceAll(resolve(program), "/slipway"));
}

const databaseName = `slipway_recording_${process.pid}`;
const administrator = new Client({ connectionString: postgresServer });
await administrator.connect();
try {
  await administrator.query(`create database ${databaseName}`);
  const databaseUrl = new URL(postgresServer);
  databaseUrl.pathname = `/${databaseName}`;
  await bundleRunner();
  const sqlite = await record("sqlite", null);
  save("facts.json", { sqlite, postgres: await record("postgres", databaseUrl.href) });
} finally {
  await administrator.query(`drop database if exists ${databaseName} with (force)`);
  await administrator.end();
  rmSync(work, { recursive: true, force: true });
}
