import { describe, expect, test } from "bun:test";
import { type Release, SlipwayPush } from "../../client/slipway-push.ts";
import { setUpDeploy } from "../support/deploy-setup.ts";
import { eventually } from "../support/eventually.ts";

const { server, repository } = await setUpDeploy();

/** A page of the application that joins the channel. */
async function openPage(channel: string) {
  const releases: Release[] = [];
  const messages: unknown[] = [];
  let isOpen = false;
  const push = new SlipwayPush({
    url: `${server.url}/ws`,
    temporary: true,
    code: async () =>
      (await server.admin.expect<{ code: string }>(201, "POST", "/api/push/codes", { userId: "ann" })).code,
  });
  push.on("open", () => {
    isOpen = true;
  });
  push.on("message", ({ data }) => messages.push(JSON.parse(data)));
  push.onRelease(channel, (release) => releases.push(release));
  push.open();
  await eventually("the page is connected", () => isOpen);
  return { releases, messages, close: () => push.close() };
}

const target = (channel: string) => ({ notify: [{ format: "push", url: `channel:${channel}` }] });

describe("a notification target of the format push", () => {
  test("publishes a release to a channel, which onRelease hears, and nothing else", async () => {
    const page = await openPage("releases");
    const stages = { build: "true", deploy: "test ! -f fails" };
    const projectId = await server.project(repository.url, stages, {
      ...target("releases"),
      publicUrl: "https://shop.example.com",
    });
    const commit = await repository.push({ "a.txt": "1" });
    const { id } = await server.run(projectId);
    await server.reach(id, "success");
    await eventually("the release is heard", () => page.releases.length === 1);
    const { name } = await server.admin.expect<{ name: string }>(200, "GET", `/api/projects/${projectId}`);
    expect(page.releases).toEqual([{ project: name, commit, taskId: id, url: "https://shop.example.com" }]);
    // A failed deploy is no release; a rollback is one.
    await repository.push({ fails: "1" });
    await server.reach((await server.run(projectId)).id, "failed");
    const { id: again } = await server.admin.expect<{ id: number }>(201, "POST", `/api/tasks/${id}/rerun`);
    await server.reach(again, "success");
    await eventually("the next release is heard", () => page.releases.length === 2);
    expect(page.messages).toHaveLength(2);
    page.close();
  });

  test("shows its channel, and sends a test message that is no release", async () => {
    const page = await openPage("tested");
    const projectId = await server.project(repository.url, {}, target("tested"));
    const { notify } = await server.admin.expect<{ notify: { id: string; url: string }[] }>(
      ...([200, "GET", `/api/projects/${projectId}`] as const),
    );
    expect(notify).toMatchObject([{ format: "push", url: "channel:tested", events: [] }]);
    const path = `/api/projects/${projectId}/notify/${notify[0]?.id}/test`;
    const sent = await server.admin.expect<{ delivered: boolean }>(200, "POST", path);
    expect(sent).toMatchObject({ delivered: true });
    await eventually("the message is heard", () => page.messages.length === 1);
    expect([page.messages, page.releases]).toEqual([[expect.objectContaining({ type: "test" })], []]);
    page.close();
  });

  test.each([
    ["push", "https://example.com/hook"],
    ["push", "channel:"],
    ["push", "channel:private-project-1"],
    ["push", "channel:a\nb"],
    ["push", `channel:${"ä".repeat(200)}`],
    ["slack", "channel:releases"],
  ])("refuses %s with the address %s", async (format, url) => {
    const body = { name: "refused", git: { url: repository.url }, notify: [{ format, url }] };
    const { error } = await server.admin.expect<{ error: { fields: { field: string }[] } }>(
      ...([422, "POST", "/api/projects", body] as const),
    );
    expect(error.fields.map(({ field }) => field)).toEqual(["notify.0.url"]);
  });
});
