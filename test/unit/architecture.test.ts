import { describe, expect, test } from "bun:test";
import { resolve } from "node:path";
import { Glob } from "bun";
import {
  cycles,
  importsOf,
  type Part,
  type SourceFile,
  strayPackages,
  unfitFiles,
  wrongArrows,
} from "../support/architecture.ts";

const everyPart = ["config", "http", "push", "webhook", "task", "account", "store", "bus", "runner"];
const seams = ["bus interface", "runner protocol", "model", "git rules", "text rules", "base"];

/** The direction of the design: main → app → http → push | webhook | task → model → base. */
const parts: Part[] = [
  { name: "main", files: /^src\/(main\.ts|cli\/)/, imports: ["app", "client", ...everyPart, ...seams] },
  { name: "app", files: /^src\/app(\.ts$|\/)/, imports: [...everyPart, ...seams], types: ["main"] },
  { name: "config", files: /^src\/(config|configuration)[\w-]*\.ts$/, imports: ["base"] },
  {
    name: "http",
    files: /^src\/http\//,
    imports: [
      "push",
      "webhook",
      "task",
      "account",
      "runner protocol",
      "model",
      "git rules",
      "text rules",
      "base",
    ],
    types: ["bus interface"],
  },
  { name: "push", files: /^src\/push\//, imports: ["bus interface", "model", "git rules", "base"] },
  { name: "webhook", files: /^src\/webhook\//, imports: ["task", "model", "git rules", "base"] },
  { name: "task", files: /^src\/task\//, imports: ["runner protocol", "model", "git rules", "base"] },
  { name: "account", files: /^src\/account\//, imports: ["model", "git rules", "base"] },
  { name: "store", files: /^src\/store\//, imports: ["model", "git rules", "base"] },
  { name: "bus interface", files: /^src\/bus\/bus\.ts$/, imports: ["base"] },
  { name: "bus", files: /^src\/bus\//, imports: ["bus interface", "base"] },
  { name: "runner protocol", files: /^src\/runner\/protocol\.ts$/, imports: ["git rules", "base"] },
  { name: "runner", files: /^src\/runner\//, imports: ["runner protocol", "git rules", "base"] },
  // What a ref and a clone URL may look like: the server and the runner must agree.
  { name: "git rules", files: /^src\/model\/git-(ref|url)\.ts$/, imports: ["base"] },
  { name: "model", files: /^src\/model\//, imports: ["git rules", "base"] },
  // Which characters are written out: the command line and the console must agree.
  { name: "text rules", files: /^src\/visible-text\.ts$/, imports: [] },
  { name: "base", files: /^src\/[\w-]+\.ts$/, imports: ["text rules"] },
  {
    name: "console",
    files: /^console\//,
    imports: ["client", "text rules"],
    types: ["http", "webhook", "task", "push", "account", "runner protocol", "model", "git rules", "base"],
  },
  { name: "client", files: /^client\//, imports: [] },
];

/** The technology that each part hides from the others. */
const owners = {
  kysely: ["store"],
  pg: ["store"],
  "bun:sqlite": ["store"],
  "rabbitmq-client": ["bus"],
  "@platformatic/kafka": ["bus"],
  hono: ["http", "console"],
  "@hono/zod-openapi": ["http"],
  commander: ["main"],
  react: ["console"],
  "react-dom": ["console"],
};

const root = resolve(import.meta.dir, "../..");

async function filesOf(pattern: string): Promise<SourceFile[]> {
  const paths = [...new Glob(pattern).scanSync(root)];
  return Promise.all(paths.map(async (path) => ({ path, text: await Bun.file(`${root}/${path}`).text() })));
}

const product = await filesOf("{src,client,console}/**/*.{ts,tsx}");
const everything = await filesOf("{src,client,console,test,bench,scripts}/**/*.{ts,tsx}");

describe("the architecture", () => {
  test("imports follow the arrows", () => expect(wrongArrows(product, parts)).toEqual([]));
  test("no two parts import each other, also not around corners", () =>
    expect(cycles(product, parts)).toEqual([]));
  test("each technology stays in its part", () => expect(strayPackages(product, parts, owners)).toEqual([]));
  test("files are named for what is inside and short enough to take in", () =>
    expect(unfitFiles(everything)).toEqual([]));
});

describe("the checker of the architecture", () => {
  const hub = { path: "src/push/hub.ts", text: 'import { listenOn } from "../http/server.ts";\n' };

  test("finds an arrow that points the wrong way", () => {
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

  test("finds a ring of parts", () => {
    const server = { path: "src/http/server.ts", text: 'import { Hub } from "../push/hub.ts";\n' };
    expect(cycles([hub, server], parts)).toEqual(["http → push → http"]);
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
