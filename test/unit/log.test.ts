import { expect, test } from "bun:test";
import { Writable } from "node:stream";
import { buildLog } from "../../src/log.ts";

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
    const log = buildLog("info", format, destination as typeof process.stdout);
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

test("a pretty line escapes what a terminal would interpret", () => {
  let written = "";
  const destination = { write: (text: string) => (written += text) } as unknown as NodeJS.WriteStream;
  buildLog("info", "pretty", destination).info({ error: "a\u001b[2Jb", more: { c: "\u202ed" } }, "e\u009bf");
  expect(written).toContain("a\\x1b[2Jb");
  expect(written).toContain("\\u202ed");
  expect(written).toContain("e\\x9bf");
});

test("a line break in a text does not start a new log line", () => {
  let written = "";
  const destination = { write: (text: string) => (written += text) } as unknown as NodeJS.WriteStream;
  const path = "/api/x\n19:22:11 error the database is lost\r\n19:22:12 info  forged";
  buildLog("info", "pretty", destination).info({ path }, "request\nforged");
  const lines = written.trimEnd().split("\n");
  expect(lines).toHaveLength(4);
  expect(lines.slice(1).filter((line) => !line.startsWith(" "))).toEqual([]);
});
