import { describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { Glob } from "bun";
import manifest from "../../package.json" with { type: "json" };
import { operations } from "../../src/app/store-operations.ts";
import {
  crowdedFolders,
  cycles,
  fileCycles,
  importsOf,
  type Part,
  type SourceFile,
  strayPackages,
  unfitFiles,
  upwardImports,
  wrongArrows,
} from "../support/architecture.ts";
import { longFiles } from "../support/long-files.ts";

const everyPart = [
  "config",
  "http",
  "push",
  "sample",
  "set-up",
  "webhook",
  "task",
  "account",
  "store",
  "bus",
  "workers",
  "runner",
  "git",
  "git-host",
];
const seams = ["bus interface", "runner protocol", "model", "pipeline", "git rules", "text rules", "base"];

/** The direction of the design: main → app → http → push | webhook | task → model → base. */
const parts: Part[] = [
  { name: "launch", files: /^src\/launch\//, imports: ["main", "base"] },
  { name: "main", files: /^src\/(main\.ts|cli\/)/, imports: ["app", "client", ...everyPart, ...seams] },
  { name: "app", files: /^src\/app(\.ts$|\/)/, imports: [...everyPart, ...seams], types: ["main"] },
  { name: "config", files: /^src\/config\//, imports: ["base"] },
  {
    name: "http",
    files: /^src\/http\//,
    imports: [
      "push",
      "sample",
      "set-up",
      "webhook",
      "task",
      "account",
      "git-host",
      "runner protocol",
      "pipeline",
      "model",
      "git rules",
      "text rules",
      "base",
    ],
    types: ["bus interface"],
  },
  {
    name: "push",
    files: /^src\/push\//,
    imports: ["bus interface", "model", "git rules", "text rules", "base"],
  },
  // It starts git and knows the folders of runners, which webhooks do not.
  {
    name: "sample",
    files: /^src\/sample\//,
    imports: ["webhook", "git-host", "pipeline", "model", "git rules", "base"],
  },
  // It reads repositories and calls the APIs of Git hosts for a user who adds a project.
  {
    name: "set-up",
    files: /^src\/set-up\//,
    imports: ["webhook", "task", "git", "git-host", "pipeline", "model", "git rules", "text rules", "base"],
  },
  {
    name: "webhook",
    files: /^src\/webhook\//,
    imports: ["task", "git", "git-host", "pipeline", "model", "git rules", "text rules", "base"],
  },
  {
    name: "task",
    files: /^src\/task\//,
    imports: ["git-host", "runner protocol", "pipeline", "model", "git rules", "text rules", "base"],
  },
  {
    name: "account",
    files: /^src\/account\//,
    imports: ["model", "git rules", "text rules", "base"],
    types: ["config"],
  },
  { name: "store", files: /^src\/store\//, imports: ["pipeline", "model", "git rules", "base"] },
  { name: "bus interface", files: /^src\/bus\/(bus|log|record-version)\.ts$/, imports: ["base"] },
  { name: "bus", files: /^src\/bus\//, imports: ["bus interface", "base"] },
  // The processes of a gateway with several, and their supervisor.
  {
    name: "workers",
    files: /^src\/workers\//,
    imports: ["push", "bus", "bus interface", "base"],
    types: ["config"],
  },
  {
    name: "runner protocol",
    files: /^src\/runner\/protocol\.ts$/,
    imports: ["pipeline", "git rules", "text rules", "base"],
  },
  {
    name: "runner",
    files: /^src\/runner\//,
    imports: ["runner protocol", "pipeline", "git", "git rules", "base", "text rules"],
  },
  // How git is run for a repository: the poll of the server and the checkout of a runner have the same rules.
  { name: "git", files: /^src\/git\//, imports: ["git rules", "base"] },
  // What each Git host sends and accepts. It calls nobody: a client is passed to it. The model names hosts.
  { name: "git-host", files: /^src\/git-host\//, imports: ["git rules", "base"] },
  // What a ref and a clone URL may look like: the server and the runner must agree.
  { name: "git rules", files: /^src\/model\/git\/(git-(ref|url)|repository-place)\.ts$/, imports: ["base"] },
  // Which characters are escaped, how long a commit is written, why a stage was skipped, the names of the console's channels, and the texts of reasons: the server, the command line and the console must agree.
  {
    name: "text rules",
    files:
      /^src\/(visible-text|model\/console\/console-names|model\/git\/short-commit|model\/stage\/(skip-cause|stage-name)|reason\/[\w-]+-texts)\.ts$/,
    imports: [],
  },
  // What both the server and a runner know: the steps of a project, how they are isolated, and what it takes on the disk.
  {
    name: "pipeline",
    files:
      /^src\/model\/(pipeline|execution|pipeline-file\/[\w-]+|service\/(service|route|given|image-name|disk-use))\.ts$/,
    imports: ["text rules", "base"],
  },
  {
    name: "model",
    files: /^src\/model\//,
    imports: ["git-host", "pipeline", "git rules", "text rules", "base"],
  },
  { name: "base", files: /^src\/((reason|system|telemetry)\/)?[\w-]+\.ts$/, imports: ["text rules"] },
  {
    name: "console",
    files: /^console\//,
    imports: ["client", "text rules"],
    types: [
      "http",
      "webhook",
      "task",
      "push",
      "account",
      "git-host",
      "runner protocol",
      "pipeline",
      "model",
      "git rules",
      "base",
    ],
  },
  // The script of the pages of the manual.
  { name: "manual", files: /^manual\//, imports: [], types: ["http"] },
  // Before the client, whose core works without React.
  { name: "client hook", files: /^client\/react\.ts$/, imports: ["client"] },
  { name: "client", files: /^client\//, imports: [] },
];

/** Folders of an area from top to bottom: a folder imports only from folders below it. "." is the area itself. */
const layers: Readonly<Record<string, readonly string[]>> = {
  // "." is what every route uses: requests, answers, callers, files.
  "src/http": ["routes", "connect", "feign", "api", "manual", "."],
  "src/push": [".", "admission", "publish", "presence", "events", "fanout", "trace", "connection", "message"],
  "src/webhook": [".", "receive", "poll", "decide", "hook"],
  "src/git-host": [".", "api", "status", "proof", "delivery"],
  "src/task": ["transfer", "service", "hand-out", ".", "approval", "events", "notify", "release", "view"],
  "src/store": [".", "maintenance", "sqlite", "postgres", "keepers", "migrations", "query"],
  "src/runner": [
    "run",
    "transfer",
    "service",
    "route",
    "keeper",
    "stage",
    "checkout",
    "server",
    "log",
    "workspace",
    "sandbox",
    "process",
    ".",
  ],
  "src/bus": ["kafka", "rabbitmq", "."],
  "src/workers": ["supervisor", "worker", "."],
};

/** These have one file per noun or per migration; every other folder has subfolders instead of more files. */
const listFolders = ["src/http/api", "src/store/keepers", "src/store/migrations"];

/** The technology that each part hides from the others. */
const owners = {
  kysely: ["store"],
  pg: ["store"],
  "bun:sqlite": ["store"],
  "rabbitmq-client": ["bus"],
  "@platformatic/kafka": ["bus"],
  "@opentelemetry/sdk-trace": ["base"],
  "@opentelemetry/exporter-trace-otlp-http": ["base"],
  "openid-client": ["account"],
  hono: ["http", "console"],
  marked: ["http"],
  minisearch: ["manual"],
  "@hono/zod-openapi": ["http"],
  commander: ["main"],
  react: ["console", "client hook"],
  "react-dom": ["console"],
};

const root = resolve(import.meta.dir, "../..");

async function filesOf(pattern: string): Promise<SourceFile[]> {
  const paths = [...new Glob(pattern).scanSync(root)];
  return Promise.all(paths.map(async (path) => ({ path, text: await Bun.file(`${root}/${path}`).text() })));
}

const product = await filesOf("{src,client,console,manual}/**/*.{ts,tsx}");
const everything = await filesOf("{src,client,clients,console,manual,test,bench,scripts}/**/*.{ts,tsx}");

describe("the architecture", () => {
  test("imports follow the direction of the design", () => expect(wrongArrows(product, parts)).toEqual([]));
  test("no two parts import each other, also not indirectly", () =>
    expect(cycles(product, parts)).toEqual([]));
  test("a folder imports only from folders below it", () =>
    expect(upwardImports(product, layers)).toEqual([]));
  test("no two files import each other, not even types, also not indirectly", () =>
    expect(fileCycles(product)).toEqual([]));
  test("no folder of src has more than 24 files", () =>
    expect(crowdedFolders(product, listFolders)).toEqual([]));
  test("each technology stays in its part", () => expect(strayPackages(product, parts, owners)).toEqual([]));
  test("SQLite is called on threads of the store alone, and in commands that have a process of their own", () => {
    const importersOf = (target: string) =>
      product
        .filter((file) => importsOf(file).some(({ to, isTypeOnly }) => to === target && !isTypeOnly))
        .map(({ path }) => path);
    expect(importersOf("src/store/sqlite/sqlite-connection.ts").sort()).toEqual([
      "src/store/maintenance/bulk-connection.ts",
      "src/store/sqlite/open-file.ts",
    ]);
    expect(importersOf("src/store/sqlite/open-file.ts")).toEqual(["src/store/sqlite/thread-program.ts"]);
    expect(importersOf("src/store/sqlite/thread-program.ts")).toEqual(["src/app/store-thread-program.ts"]);
    const callers = product.filter(({ text }) => text.includes('from "bun:sqlite"')).map(({ path }) => path);
    // The owner locks a file beside the database.
    expect(callers.sort()).toEqual([
      "src/store/sqlite/sqlite-connection.ts",
      "src/store/sqlite/sqlite-owner.ts",
    ]);
  });
  test("every operation is registered", () => {
    const made = product.flatMap(({ text }) =>
      [...text.matchAll(/operation\(\s*"(\w+)"/g)].map(([, name]) => name),
    );
    expect(operations.map(({ name }) => name).sort()).toEqual(made.sort() as string[]);
  });
  test("own-command.ts alone starts the runtime, with flags that keep it from reading the current folder", () => {
    const starts = /process\.(?:execPath|argv0|argv\[0\])|\bargv0\b|bun\.exe|\bfork\(|\bnew Worker\(|\["bun"/;
    const starters = product.filter(({ text }) => starts.test(text)).map(({ path }) => path);
    // A thread shares the settings of its process.
    expect(starters.sort()).toEqual(["src/own-command.ts", "src/store/sqlite/store-thread.ts"]);
    const scripts = product.filter(({ text }) => text.startsWith("#!")).map(({ path }) => path);
    expect([scripts, Object.values(manifest.bin), readdirSync(join(root, "bin"))]).toEqual([
      [],
      ["./bin/slipway"],
      ["slipway"],
    ]);
  });
  test("transactions are the store's", () => {
    const others = product.filter(
      ({ path, text }) => !path.startsWith("src/store/") && text.includes("transaction("),
    );
    expect(others.map(({ path }) => path)).toEqual([]);
  });
  test("files are named for what is inside and short enough to take in", () =>
    expect(unfitFiles(everything, longFiles)).toEqual([]));
});

describe("the checker of the architecture", () => {
  const hub = { path: "src/push/hub.ts", text: 'import { listenOn } from "../http/server.ts";\n' };

  test("finds an import in the wrong direction", () => {
    expect(wrongArrows([hub], parts)).toEqual([
      "src/push/hub.ts imports src/http/server.ts: push may not import http",
    ]);
  });

  test("finds it in every way an import is written", () => {
    const ways = [
      'import "../http/server.ts";',
      'import type { Routes } from "../http/server.ts";',
      'import {\n  a,\n  type B,\n} from "../http/server.ts";',
      'import * as server from "../http/server.ts";',
      'export { a } from "../http/server.ts";',
      'export * from "../http/server.ts";',
      'const server = await import("../http/server.ts");',
    ];
    for (const text of ways) expect(wrongArrows([{ path: "src/push/hub.ts", text }], parts)).toHaveLength(1);
  });

  test("does not take a comment for an import", () => {
    const text = '// import "../http/server.ts";\n/* import "../http/server.ts"; */\n';
    expect(importsOf({ path: "src/push/hub.ts", text })).toEqual([]);
  });

  test("lets the console import types of the server, but nothing that runs", () => {
    const page = (text: string) => wrongArrows([{ path: "console/page.tsx", text }], parts);
    expect(page('import type { Task } from "../src/model/task.ts";')).toEqual([]);
    expect(page('import { type Task, type TaskState } from "../src/model/task.ts";')).toEqual([]);
    expect(page('import { type Task, isOver } from "../src/model/task.ts";')).toEqual([
      "console/page.tsx imports src/model/task.ts: console may not import model (types only)",
    ]);
  });

  test("finds a cycle of parts", () => {
    const server = { path: "src/http/server.ts", text: 'import { Hub } from "../push/hub.ts";\n' };
    expect(cycles([hub, server], parts)).toEqual(["http → push → http"]);
  });

  test("finds an import from a folder above, and one from a folder without a layer", () => {
    const file = (path: string, target: string) => ({ path, text: `import type { A } from "${target}";\n` });
    expect(upwardImports([file("src/push/message/ids.ts", "../fanout/hub.ts")], layers)).toEqual([
      "src/push/message/ids.ts imports src/push/fanout/hub.ts: fanout lies above message",
    ]);
    expect(upwardImports([file("src/push/fanout/hub.ts", "../message/ids.ts")], layers)).toEqual([]);
    expect(upwardImports([file("src/push/extra/hub.ts", "../message/ids.ts")], layers)).toHaveLength(1);
  });

  test("finds files that import each other's types indirectly", () => {
    const file = (name: string, next: string) => ({
      path: `src/push/${name}.ts`,
      text: `import type { A } from "./${next}.ts";\n`,
    });
    expect(fileCycles([file("a", "b"), file("b", "c"), file("c", "a")])).toEqual([
      "src/push/a.ts → src/push/b.ts → src/push/c.ts → src/push/a.ts",
    ]);
    expect(fileCycles([file("a", "b"), file("b", "c")])).toEqual([]);
  });

  test("finds a folder with too many files", () => {
    const files = Array.from({ length: 25 }, (_, i) => ({ path: `src/push/file-${i}.ts`, text: "" }));
    expect(crowdedFolders(files, listFolders)).toEqual([
      "src/push has 25 files, over 24: give it subfolders",
    ]);
    expect(crowdedFolders(files.slice(1), listFolders)).toEqual([]);
    expect(crowdedFolders(files, ["src/push"])).toEqual([]);
  });

  test("finds a database in the push gateway", () => {
    const text = 'import { Database } from "bun:sqlite";\n';
    expect(strayPackages([{ path: "src/push/hub.ts", text }], parts, owners)).toHaveLength(1);
  });

  test("finds a file of no part, a wordless name, a capital and too many lines", () => {
    expect(wrongArrows([{ path: "src/extra/thing.ts", text: "" }], parts)).toHaveLength(1);
    const files = ["src/utils.ts", "src/model/types.ts", "console/index.ts", "src/push/PushHub.ts"];
    for (const path of files) expect(unfitFiles([{ path, text: "" }])).toHaveLength(1);
    expect(unfitFiles([{ path: "src/push/hub.ts", text: "x\n".repeat(351) }])).toHaveLength(1);
    expect(unfitFiles([{ path: "src/push/hub.ts", text: "x\n".repeat(350) }])).toEqual([]);
  });
});
