import { describe, expect, test } from "bun:test";
import { setUpApi } from "../support/api-setup.ts";
import { deliveryOf, hmac, makeHook, sha } from "../support/hook.ts";

const server = await setUpApi();

const form = "application/x-www-form-urlencoded";
const pushTo = (branch: string, message = "fine") => ({
  ref: `refs/heads/${branch}`,
  after: sha(branch),
  head_commit: { id: sha(branch), message },
});

/** A commit message with hostile text. */
const hidden = `x&payload=${encodeURIComponent(JSON.stringify(pushTo("evil")))}&y=`;

const senders = [
  ["github", "X-GitHub-Event", "X-Hub-Signature-256", "sha256="],
  ["gitea", "X-Gitea-Event", "X-Gitea-Signature", ""],
  ["gogs", "X-Gogs-Event", "X-Gogs-Signature", ""],
] as const;

describe.each(senders)("at %s", (provider, eventHeader, proofHeader, prefix) => {
  const signed = (body: string, contentType: string) => ({
    [eventHeader]: "push",
    [proofHeader]: prefix + hmac("right", body),
    "content-type": contentType,
  });
  const refOf = async (body: string, headers: Record<string, string>) => {
    const hook = await makeHook(server, { provider, secret: "right", debounceSeconds: 0 });
    const answer = await hook.deliver({ body, headers });
    return [answer.status, (await deliveryOf(server.admin, answer.body.deliveryId)).ref];
  };

  for (const lead of ["", " \r\n\t", "\uFEFF", "\uFEFF \n"])
    test(`signed JSON after ${JSON.stringify(lead)}, sent again as a form, has the same meaning`, async () => {
      const body = `${lead}${JSON.stringify(pushTo("main", hidden))}`;
      for (const type of ["application/json", form, `${form}; charset=utf-8`, form.toUpperCase()])
        expect(await refOf(body, signed(body, type))).toEqual([202, "main"]);
    });

  test("a form of the host is read", async () => {
    const body = `payload=${encodeURIComponent(JSON.stringify(pushTo("main", "a + b & c")))}`;
    expect(await refOf(body, signed(body, form))).toEqual([202, "main"]);
  });
});

test("JSON without a payload field is not a form: unsigned, the same bytes have the same meaning", async () => {
  const hook = await makeHook(server, { provider: "github", debounceSeconds: 0 });
  const body = `[1]&payload=${encodeURIComponent(JSON.stringify(pushTo("evil")))}`;
  const answer = await hook.deliver({ body, headers: { "X-GitHub-Event": "push", "content-type": form } });
  expect([answer.status, answer.body.code]).toEqual([400, "invalid_payload"]);
});

test("a body that is no JSON is refused with a reason that other languages can show", async () => {
  const hook = await makeHook(server, { provider: "generic", debounceSeconds: 0 });
  const partsOf = async (headers: Record<string, string>) => {
    const answer = await hook.deliver({ body: "{nope", headers });
    return (await deliveryOf(server.admin, answer.body.deliveryId)).reason_parts;
  };
  expect(await partsOf({})).toEqual([{ code: "body_not_json", values: {} }]);
  expect(await partsOf({ "content-encoding": "gzip" })).toEqual([
    { code: "body_compressed", values: { encoding: "gzip" } },
  ]);
});
