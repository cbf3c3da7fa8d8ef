import { describe, expect, test } from "bun:test";
import { setUpApi } from "../support/api-setup.ts";
import { deliveryOf, hmac, makeHook, sha } from "../support/hook.ts";

const server = await setUpApi();
const hook = await makeHook(server, { provider: "github", secret: "right", debounceSeconds: 0 });

const maxNesting = 100;

/** A push whose field `more` has this value, written as JSON. */
const pushWith = (more: string) => `{"ref":"refs/heads/main","after":"${sha(more)}","more":${more}}`;
/** The whole body has this many levels. */
const nestedPush = (levels: number) => pushWith("[".repeat(levels - 1) + "]".repeat(levels - 1));

const contents = {
  JSON: { type: "application/json", wrap: (json: string) => json },
  "a form": {
    type: "application/x-www-form-urlencoded",
    wrap: (json: string) => `payload=${encodeURIComponent(json)}`,
  },
};

describe.each(Object.entries(contents))("a signed body of %s", (_, { type, wrap }) => {
  const deliver = (json: string, secret = "right") => {
    const body = wrap(json);
    const signature = `sha256=${hmac(secret, body)}`;
    const headers = { "X-GitHub-Event": "push", "X-Hub-Signature-256": signature, "content-type": type };
    return hook.deliver({ body, headers });
  };

  test.each([maxNesting + 1, 130_000])("with %d levels is refused and recorded", async (levels) => {
    const { status, body } = await deliver(nestedPush(levels));
    expect([status, body.status, body.code]).toEqual([400, "failed", "invalid_payload"]);
    expect(await deliveryOf(server.admin, body.deliveryId)).toMatchObject({
      status: "failed",
      code: "invalid_payload",
      reason: "The body is nested deeper than 100 levels; send fewer levels.",
      body: expect.stringContaining('{"ref":"refs/heads/main"'),
    });
  });

  test("is accepted up to the limit; brackets in texts and beside each other do not count", async () => {
    const wide = `[${Array.from({ length: 500 }, () => "[{}]").join()}]`;
    const quoted = JSON.stringify(`"\\${"[{".repeat(500)}`);
    for (const json of [nestedPush(maxNesting), pushWith(wide), pushWith(quoted)])
      expect((await deliver(json)).status).toBe(202);
  });

  test("without a valid signature is refused for its signature", async () => {
    const { status, body } = await deliver(nestedPush(130_000), "wrong");
    expect([status, body.code]).toEqual([401, "signature_invalid"]);
  });
});
