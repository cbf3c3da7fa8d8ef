import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { storedBodyOf } from "../../src/webhook/decide/stored-body.ts";
import { setUpApi } from "../support/api-setup.ts";
import { deliveryOf, makeHook } from "../support/hook.ts";
import { pick } from "../support/length.ts";

const server = await setUpApi();
const hook = await makeHook(server, { debounceSeconds: 0 });

async function recordOf(delivery: { payload: object } | { body: string }) {
  const { body } = await hook.deliver(delivery);
  return deliveryOf(server.admin, body.deliveryId);
}

const push = (message: string) => ({ payload: { event: "push", ref: "refs/heads/main", message } });

describe("escaped text is stored within the limits of the specification", () => {
  test("commit_message has at most 200 characters, of which an escape is four", async () => {
    const { commit_message } = await recordOf(push(`${"\t".repeat(150)}${"x".repeat(150)}`));
    expect(commit_message).toBe("\\x09".repeat(50));
    const whole = await recordOf(push(`a\tb${"😀".repeat(300)}`));
    expect(whole.commit_message).toBe(`a\\x09b${"😀".repeat(194)}`);
  });

  test("body has at most 8 KB, of which a character that no database stores is three", async () => {
    const { body } = await recordOf({ body: "\0".repeat(9000) });
    expect(body).toBe("\uFFFD".repeat(2730));
    const mixed = await recordOf({ body: `${"x".repeat(8191)}\0` });
    expect(mixed.body).toBe("x".repeat(8191));
  });

  test("a character on the edge of 8 KB is stored whole or not at all", () => {
    for (const character of ["é", "密", "😀"])
      for (let bytes = 8186; bytes <= 8192; bytes++) {
        const stored = storedBodyOf("x".repeat(bytes) + character.repeat(9), undefined, []);
        expect(Buffer.byteLength(stored)).toBeLessThanOrEqual(8192);
        expect(stored).toMatch(/^x+[é密😀]*$/u);
        expect(8192 - Buffer.byteLength(stored)).toBeLessThan(Buffer.byteLength(character));
      }
  });
});

describe("the secret is found in a body", () => {
  const secret = 'a/b"c\\密—secret';
  const spellings = {
    "with escaped slashes": JSON.stringify(secret).replaceAll("/", "\\/"),
    "in ASCII": JSON.stringify(secret).replaceAll(/[^ -~]/g, (character) => {
      return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
    }),
    "as it is": JSON.stringify(secret),
  };
  test.each(Object.entries(spellings))("written %s", (_how, spelt) => {
    const text = `{"note":${spelt}}`;
    expect(storedBodyOf(text, JSON.parse(text), [secret])).toBe('{"note":"***"}');
  });

  test("also if only a slash is escaped", () => {
    const text = String.raw`{"note":"say ab\/cdefgh aloud"}`;
    expect(storedBodyOf(text, JSON.parse(text), ["ab/cdefgh"])).toBe('{"note":"say *** aloud"}');
  });

  test("as the name of a field", () => {
    const text = '{"hunter22":1}';
    expect(storedBodyOf(text, JSON.parse(text), ["hunter22"])).toBe('{"***":1}');
  });

  test("across the place where the body is cut, plain or escaped", () => {
    const long = "0123456789".repeat(100);
    const escaped = [...long].map((digit) => `\\u003${digit}`).join("");
    for (const spelt of [long, `${long.slice(0, 500)}${escaped.slice(3000)}`, escaped]) {
      const text = JSON.stringify({ pad: "x".repeat(8100), note: "" }).replace('""', `"${spelt}"`);
      const stored = storedBodyOf(text, JSON.parse(text), [long]);
      expect(stored).toEndWith('x","note":"***"}');
    }
  });
});

test("the value of a secret key is masked in any surrounding text", () => {
  const name = fc.constantFrom(
    "secret",
    "Password",
    "SIGN",
    "tokeN",
    String.raw`\u0073ign`,
    String.raw`tok\u0065n`,
  );
  const space = fc.stringMatching(/^[ \t\r\n]{0,3}$/);
  const around = fc.json({ maxDepth: 2 });
  fc.assert(
    fc.property(name, space, space, around, around, (key, before, after, first, last) => {
      const text = `{"a":${first},"in":[{"${key}"${before}:${after}"hidden-${key.length}"}],"z":${last}}`;
      expect(storedBodyOf(text, JSON.parse(text), [])).not.toContain("hidden-");
      const broken = text.slice(0, -1);
      if (!key.includes("\\")) expect(storedBodyOf(broken, undefined, [])).not.toContain("hidden-");
    }),
    { numRuns: pick(200, 5_000) },
  );
});

test.each([
  [49, "accepted"],
  [100_000, "failed"],
])("in a body of %d nested objects and arrays, secrets are masked", async (levels, expected) => {
  const nested = `${'{"in":['.repeat(levels)}{"password":"hidden-1"}${"]}".repeat(levels)}`;
  const payload = `{"event":"push","ref":"refs/heads/main","token":"hidden-2","more":${nested}}`;
  const { status, body } = await recordOf({ body: payload });
  expect(status).toBe(expected);
  expect(body).toStartWith('{"event":"push","ref":"refs/heads/main","token":"***","more":{"in":[{"in":[');
  expect(body).not.toContain("hidden-");
});

test("a body without anything to mask is stored unchanged, whatever follows the cut", () => {
  const text = `{ "pad" : "${"x".repeat(20_000)}", "token" : "t" }`;
  expect(storedBodyOf(text, JSON.parse(text), ["hunter22"])).toBe(text.slice(0, 8192));
});
