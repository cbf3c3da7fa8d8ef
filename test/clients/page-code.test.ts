import { expect, test } from "bun:test";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { buildClient } from "../../scripts/build-client.ts";
import { setUpPush } from "../support/api-setup.ts";
import { eventually } from "../support/eventually.ts";
import { claims } from "../support/page-claims.ts";
import { blocksIn } from "../support/page-examples.ts";
import { serviceUrl } from "../support/services.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** Compiles or runs the code on the pages that has no test of its own. */
const root = resolve(import.meta.dir, "../..");
const ran = new Set<string>();

function example(page: string, id: string): string {
  const block = blocksIn(readFileSync(join(root, page), "utf8")).find((each) => each.id === id);
  if (!block) throw new Error(`${page} has no example ${id}.`);
  ran.add(`${page} ${id}`);
  return block.text;
}

async function succeeds(command: string[], cwd: string): Promise<void> {
  const child = Bun.spawn(command, { cwd, stdout: "pipe", stderr: "pipe" });
  const [output, errors] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  expect([await child.exited, output + errors]).toEqual([0, ""]);
}

test("the TypeScript of the pages has no type errors, with the names that it takes from its reader", async () => {
  const folder = temporaryFolder("page-code");
  const modules = join(folder, "node_modules");
  mkdirSync(join(modules, "@types"), { recursive: true });
  for (const name of [
    "react",
    "@types/react",
    "@types/bun",
    "bun-types",
    "@types/node",
    "undici-types",
    "csstype",
  ])
    symlinkSync(join(root, "node_modules", name), join(modules, name));
  await buildClient(join(modules, "slipway-push"));
  const given = "declare const url: string; declare const code: () => Promise<string>;";
  writeFileSync(
    join(folder, "client.ts"),
    `declare function reloadEverything(): void; declare function showState(...shown: unknown[]): void;\n${example("client/README.md", "ts 1")}`,
  );
  writeFileSync(
    join(folder, "react.tsx"),
    `import { SlipwayPush } from "slipway-push"; ${given} declare function add(order: unknown): void; declare function reload(): void;\n${example("client/README.md", "tsx 1")}\nexport { Orders };`,
  );
  writeFileSync(
    join(folder, "wechat.ts"),
    `${given} declare const wx: Parameters<typeof weChatSocket>[0];\n${example("client/README.md", "js 1")}\nexport { push };`,
  );
  const support = join(root, "test/support");
  writeFileSync(
    join(folder, "testing.ts"),
    `import { describe } from "bun:test"; import { serviceUrl } from "${support}/services.ts"; import { startRabbitmq } from "${support}/rabbitmq.ts";\n${example("docs/testing.md", "ts 1")}`,
  );
  const language = ["--module", "preserve", "--target", "esnext", "--jsx", "react-jsx", "--strict"];
  const types = ["--types", "bun", "--allowImportingTsExtensions", "--lib", "esnext,dom,dom.iterable"];
  const tsc = [
    process.execPath,
    join(root, "node_modules/typescript/bin/tsc"),
    "--ignoreConfig",
    "--noEmit",
    "--skipLibCheck",
  ];
  await succeeds(
    [...tsc, ...language, ...types, "client.ts", "react.tsx", "wechat.ts", "testing.ts"],
    folder,
  );
}, 240_000);

const python = await serviceUrl("python");
const pythonCode = example("clients/python/README.md", "python 1");

test.skipIf(python === undefined)(
  "the Python of clients/python/README.md receives messages",
  async () => {
    const push = await setUpPush();
    const program = join(temporaryFolder("page-python"), "main.py");
    const code = pythonCode
      .replace("wss://push.example.com/ws", push.wsUrl)
      .replace(/^ {4}\.\.\..*$/m, '    return "42"');
    const asks = ["import asyncio", "def reload_everything() -> None: pass", code, "asyncio.run(main())"];
    writeFileSync(program, asks.join("\n"));
    const child = Bun.spawn([python ?? "", "-u", program], {
      env: { ...process.env, PYTHONPATH: join(root, "clients/python/src") },
      stdout: "pipe",
      stderr: "inherit",
    });
    let output = "";
    const reading = (async () => {
      for await (const chunk of child.stdout) output += Buffer.from(chunk).toString();
    })();
    await eventually("it connects", async () => (await push.online()).includes("42"), 60_000);
    await push.publish({ targetType: "channel", target: "news", data: "hello" });
    await eventually("it prints the message", () => output.includes("news hello"));
    child.kill();
    await reading;
  },
  120_000,
);

const javac = await serviceUrl("javac");
const javaCode = example("clients/java/README.md", "java 1");

test.skipIf(javac === undefined)(
  "the Java of clients/java/README.md compiles",
  async () => {
    const folder = temporaryFolder("page-java");
    writeFileSync(
      join(folder, "Example.java"),
      `import dev.slipway.push.*;
class Example {
  interface Backend { String newPushCode(); }
  static void reloadEverything() {}
  static void main(Backend backend) {
${javaCode}
  }
}`,
    );
    const sources = join(root, "clients/java/src/main/java");
    await succeeds(
      [javac ?? "", "-proc:none", "-sourcepath", sources, "-d", "classes", "Example.java"],
      folder,
    );
  },
  120_000,
);

test("the Java of docs/push.md is the interface of examples/spring-boot, which is compiled and called", () => {
  const source = "examples/spring-boot/src/main/java/dev/slipway/example/PushClient.java";
  const lines = readFileSync(join(root, source), "utf8")
    .split("\n")
    .map((line) => line.trim());
  const [declaration = "", call = ""] = example("docs/push.md", "java 1").split(/^\}$/m);
  const members = declaration
    .split("\n")
    .slice(2)
    .map((line) => line.trim());
  expect(members.filter((line) => line !== "" && !lines.includes(line))).toEqual([]);
  expect(call.trim()).toBe(
    'pushClient.publish(new PushClient.PublishRequest("user", "42", "your order has shipped"));',
  );
});

test("the events of docs/push.md are JSON, one of each type, with the fields of every event", () => {
  const text = example("docs/push.md", "jsonc 1").replaceAll(/^\s*\/\/.*$/gm, "");
  const { events } = (JSON.parse(text) as { data: { events: Record<string, unknown>[] } }).data;
  const types = ["online", "offline", "joined", "left", "occupied", "vacated", "message"];
  expect(events.map(({ type }) => String(type))).toEqual(types);
  for (const event of events)
    expect(Object.keys(event).slice(0, 5)).toEqual(["v", "id", "ts", "node", "type"]);
});

test("the settings for Prometheus in docs/telemetry.md name the rules of deploy/prometheus and the job that they expect", () => {
  const settings = Bun.YAML.parse(example("docs/telemetry.md", "yaml 2")) as {
    rule_files: string[];
    scrape_configs: { job_name: string }[];
  };
  const rules = settings.rule_files.map((name) =>
    readFileSync(join(root, "deploy/prometheus", name), "utf8"),
  );
  const jobs = settings.scrape_configs.map(({ job_name: name }) => name);
  expect(jobs).toEqual(["slipway"]);
  expect(rules.join("")).toContain(`job="${jobs[0]}"`);
});

test("every example that is claimed for this file was checked", () => {
  const own = "test/clients/page-code.test.ts";
  const claimed = Object.entries(claims).flatMap(([page, claim]) =>
    Object.entries(claim).flatMap(([id, file]) => (file === own ? [`${page} ${id}`] : [])),
  );
  expect([...ran].sort()).toEqual(claimed.sort());
});
