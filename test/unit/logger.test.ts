import { expect, test } from "bun:test";
import { join } from "node:path";
import { Writable } from "node:stream";
import { buildLogger } from "../../src/logger.ts";

test.each(["json", "pretty"] as const)(
  "a log line in %s never holds the value of a secret's key, at any depth we log at",
  (format) => {
    let written = "";
    const destination = new Writable({
      write(chunk, _encoding, done) {
        written += String(chunk);
        done();
      },
    }) as unknown as NodeJS.WriteStream;
    const log = buildLogger("info", format, destination as typeof process.stdout);
    const keys = [
      "authorization",
      "cookie",
      "code",
      "password",
      "secret",
      "signature",
      "token",
      "apiKey",
      "lease",
    ];
    for (const key of keys) {
      log.info({ [key]: "tell-nobody" }, "said");
      log.info({ request: { [key]: "tell-nobody" } }, "said");
      log.info({ request: { headers: { [key]: "tell-nobody" } } }, "said");
    }
    expect(written.match(/said/g)).toHaveLength(keys.length * 3);
    expect(written).not.toContain("tell-nobody");
  },
);

test("redaction reaches lists, and leaves the logged object as it is", () => {
  let written = "";
  const destination = { write: (text: string) => (written += text) } as unknown as NodeJS.WriteStream;
  const entry = { calls: [{ token: "tell-nobody", path: "/x" }], at: new Date(0), count: 2 };
  buildLogger("info", "json", destination).info(entry, "said");
  expect(JSON.parse(written)).toMatchObject({
    calls: [{ token: "[redacted]", path: "/x" }],
    at: "1970-01-01T00:00:00.000Z",
    count: 2,
  });
  expect(entry.calls[0]?.token).toBe("tell-nobody");
});

test("lines of the last turn are written also when the process exits or fails", async () => {
  const log = join(import.meta.dir, "../../src/logger.ts");
  for (const [ending, code] of [
    ["process.exit(3)", 3],
    ['throw new Error("lost")', 1],
  ] as const) {
    const script = `import { buildLogger } from ${JSON.stringify(log)}; buildLogger("info", "json").info("last words"); ${ending};`;
    const child = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe", stderr: "ignore" });
    expect(await new Response(child.stdout).text()).toContain("last words");
    expect(await child.exited).toBe(code);
  }
});

test("a pretty line escapes what a terminal would interpret", () => {
  let written = "";
  const destination = { write: (text: string) => (written += text) } as unknown as NodeJS.WriteStream;
  buildLogger("info", "pretty", destination).info(
    { error: "a\u001b[2Jb", more: { c: "\u202ed" } },
    "e\u009bf",
  );
  expect(written).toContain("a\\x1b[2Jb");
  expect(written).toContain("\\u202ed");
  expect(written).toContain("e\\x9bf");
});

test("a line break in a text does not start a new log line", () => {
  let written = "";
  const destination = { write: (text: string) => (written += text) } as unknown as NodeJS.WriteStream;
  const path = "/api/x\n19:22:11 error the database is lost\r\n19:22:12 info  forged";
  buildLogger("info", "pretty", destination).info({ path }, "request\nforged");
  const lines = written.trimEnd().split("\n");
  expect(lines).toHaveLength(4);
  expect(lines.slice(1).filter((line) => !line.startsWith(" "))).toEqual([]);
});
