import { expect, test } from "bun:test";
import { setUpApi } from "../support/api-setup.ts";
import { deliveryOf, makeHook, sha } from "../support/hook.ts";

const server = await setUpApi();

const push = (message: string) => ({
  payload: { event: "push", ref: "refs/heads/main", commit: sha(message), message },
});

test("without further keywords only the skip keyword skips a push", async () => {
  const hook = await makeHook(server, { debounceSeconds: 0 });
  expect((await hook.deliver(push("Pears [ci skip]"))).body.code).toBe("accepted");
  expect((await hook.deliver(push("Pears [skip ci]"))).body.code).toBe("skip_keyword");
});

test("further keywords skip a push too, in any case of letters, and the record names the one that was found", async () => {
  const moreSkipKeywords = ["[ci skip]", "***NO_CI***"];
  const hook = await makeHook(server, { debounceSeconds: 0, moreSkipKeywords });
  for (const [message, keyword] of [
    ["Pears\n\n[CI Skip]", "[ci skip]"],
    ["***no_ci*** pears", "***NO_CI***"],
    ["Pears [skip ci]", "[skip ci]"],
  ] as const) {
    const { body } = await hook.deliver(push(message));
    expect(body).toMatchObject({ status: "ignored", code: "skip_keyword" });
    const { reason } = await deliveryOf(server.admin, body.deliveryId);
    expect(reason).toBe(`The commit message contains ${keyword}.`);
  }
  const { body } = await hook.deliver(push("Pears"));
  expect(body.code).toBe("accepted");
  const path = `/api/projects/${hook.projectId}/webhook`;
  expect(await server.admin.expect(200, "GET", path)).toMatchObject({ moreSkipKeywords });
  await hook.save({ moreSkipKeywords: null });
  expect(await server.admin.expect(200, "GET", path)).toMatchObject({ moreSkipKeywords: [] });
  for (const wrong of [[""], ["  "], Array.from({ length: 21 }, (_, at) => `[${at}]`)]) {
    const refused = await server.admin.request("PUT", path, { moreSkipKeywords: wrong });
    expect(refused.status).toBe(422);
  }
});
