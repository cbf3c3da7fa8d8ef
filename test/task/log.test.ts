import { describe, expect, test } from "bun:test";
import { textOf } from "../support/deploy-server.ts";
import { setUpDeploy } from "../support/deploy-setup.ts";

const { server, repository } = await setUpDeploy({ "tasks.logMaxBytes": 300_000 });

async function logOf(build: string, secrets: Record<string, string> = {}) {
  const projectId = await server.project(repository.url, { build });
  for (const [name, value] of Object.entries(secrets))
    await server.admin.expect(204, "PUT", `/api/projects/${projectId}/secrets/${name}`, { value });
  const { id } = await server.run(projectId);
  await server.reach(id, "success");
  return (await server.log(id)).filter((line) => line.stage === "build");
}

describe("secrets never appear in the log", () => {
  test("neither whole nor printed in pieces nor line by line", async () => {
    const key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0\n}\n-----END KEY-----\n";
    const lines = await logOf(
      `printf '%s\\n' "$TOKEN" "x$TOKEN$TOKEN-y"
       printf 'tok-'; sleep 0.2; printf '12345'; sleep 0.2; printf '6789\\n'
       printf '%s' "$KEY"
       echo '{ "short": "no" }'
       echo "tok-12345 is only a part of it"`,
      { TOKEN: "tok-123456789", KEY: key, SHORT: "no" },
    );
    const text = textOf(lines);
    expect(text).not.toContain("tok-123456789");
    expect(text).not.toContain("MIIEvQIBADANBgkqhkiG9w0");
    expect(lines.map((line) => line.text)).toEqual([
      "***",
      "x******-y",
      "***",
      "***",
      '{ "short": "no" }',
      "tok-12345 is only a part of it",
    ]);
  });

  test("and the script still gets them", async () => {
    const lines = await logOf('[ "$TOKEN" = tok-123456789 ] && echo it is', { TOKEN: "tok-123456789" });
    expect(textOf(lines)).toBe("it is");
  });
});

describe("the log handles any output of a script", () => {
  test("binary, NUL bytes, carriage returns and colours", async () => {
    const lines = await logOf(
      "printf 'a\\000b\\377c\\n'; printf '\\033[31mred\\033[0m\\r\\n'; printf 'no end'; echo ' to stderr' >&2",
    );
    expect(lines.map((line) => line.text)).toEqual([
      "a\uFFFDb\uFFFDc",
      "\u001b[31mred\u001b[0m",
      "no end to stderr",
    ]);
  });

  test("a line of ten megabytes is cut visibly", async () => {
    const lines = await logOf("head -c 10000000 /dev/zero | tr '\\0' x; echo; echo after");
    expect(lines).toHaveLength(2);
    expect(lines[0]?.text).toEndWith("x [line cut: 9967232 more characters]");
    expect(lines[1]?.text).toBe("after");
  });

  test("a flood of empty lines is cut long before it costs more than the limit", async () => {
    const lines = await logOf("yes '' | head -n 100000");
    expect(lines.at(-1)?.text).toContain("[log cut: it reached 300000 bytes");
    expect(lines.length).toBeLessThan(10_000);
  });

  test("a log is cut at its limit with a visible mark, and the script continues", async () => {
    const lines = await logOf(
      "seq -f 'line %g of very many lines that fill a log and then some more of it' 1 6000",
    );
    expect(lines.at(-1)?.text).toContain("[log cut: it reached 300000 bytes");
    expect(lines.length).toBeGreaterThan(1500);
    expect(lines.map((line) => line.index)).toEqual(lines.map((_, at) => at + (lines[0]?.index ?? 0)));
  });
});
