import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { textWithoutCode } from "../support/coded-text.ts";

const root = join(import.meta.dir, "../..");
const places =
  /^src\/(http|account|task|webhook|set-up|sample|push|model|store\/keepers|store\/query|git|revision)\b/;
/** What the console never shows: messages of the start, of commands, and to runners and Git hosts. */
const elsewhere = [
  "src/account/first-admin.ts",
  "src/account/rescue.ts",
  "src/http/routes/hook-route.ts",
  "src/http/server.ts",
  "src/http/routes/runner-routes.ts",
  "src/sample/sample-repository.ts",
  "src/store/keepers/task-claim.ts",
  "src/store/query/database-url.ts",
  "src/task/hand-out/dispatch.ts",
];

test("every text with which the API refuses a request has a code, so that the console can translate it", () => {
  const files = [...new Bun.Glob("src/**/*.ts").scanSync(root)]
    .filter((path) => places.test(path) && !elsewhere.includes(path))
    .sort();
  const found = files.flatMap((path) => textWithoutCode(path, readFileSync(join(root, path), "utf8")));
  expect(files.length).toBeGreaterThan(300);
  expect(found).toEqual([]);
});

describe("the checker of texts without a code", () => {
  const textsIn = (source: string) =>
    textWithoutCode("a.ts", source).map((line) => line.replace(/^\S+ /, ""));

  test("finds the messages of faults, of fields and of checks", () => {
    expect(textsIn('throw new Fault("conflict", "It is over.");')).toEqual(["It is over."]);
    expect(textsIn(`throw new Fault(code, isOn ? \`Task \${id} is over.\` : "It is on.");`)).toEqual([
      "Task … is over.",
      "It is on.",
    ]);
    expect(textsIn('const a = [{ field: "name", message: "is wrong" }];')).toEqual(["is wrong"]);
    expect(textsIn('const a = z.string().refine(isName, "must be a name");')).toEqual(["must be a name"]);
    expect(textsIn('const a = z.string().refine(isName, { message: "must be a name" });')).toEqual([
      "must be a name",
    ]);
    expect(textsIn('context.addIssue({ code: "custom", message: "is no time" });')).toEqual(["is no time"]);
    expect(textsIn('throw new RemoteError("git failed");')).toEqual(["git failed"]);
    expect(textsIn(`found(user, \`user \${id}\`);`)).toEqual(["user …"]);
    expect(textsIn('function urlFault() { return isOn ? "is no URL" : null; }')).toEqual(["is no URL"]);
  });

  test("accepts texts with a code, and faults whose text is not sent", () => {
    expect(textsIn('throw new Fault("conflict", newReason("exists", { name }));')).toEqual([]);
    expect(textsIn('throw new Fault("unavailable", "The database is closed.");')).toEqual([]);
  });
});
