import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { setUpApi } from "../support/api-setup.ts";
import { makeRepository } from "../support/git-repository.ts";
import { deliveriesOf, deliveryOf, makeHook } from "../support/hook.ts";
import { installPackages } from "../support/service-install.ts";

/** Runs the examples of docs/hosts/generic.md. */
const page = await Bun.file(join(import.meta.dir, "../../docs/hosts/generic.md")).text();
const blocks = [...page.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, code]) => code ?? "");
const [tokenExample = "", hmacExample = "", standardExample = "", postReceive = ""] = blocks;
const secret = "a secret of the guide";

/** The tools that the guide requires. */
const missing = () => ["curl", "openssl", "jq"].filter((tool) => Bun.which(tool) === null);
if (missing().length > 0) await installPackages(...missing());

const server = await setUpApi();
const hook = await makeHook(server, { secret, debounceSeconds: 0, events: ["push", "tag"] });

async function shell(code: string): Promise<Record<string, unknown>> {
  const env = { ...process.env, HOOK_URL: await hook.url(), SECRET: secret };
  const child = Bun.spawn(["sh", "-ec", code], { env, stdout: "pipe", stderr: "ignore" });
  return JSON.parse(await new Response(child.stdout).text());
}

const newest = async () => {
  const [summary] = await deliveriesOf(server.admin, hook.projectId);
  return deliveryOf(server.admin, summary?.id);
};

describe.skipIf(missing().length > 0)("docs/hosts/generic.md", () => {
  test("its requests are accepted, the first one with the default settings", async () => {
    expect(await shell(tokenExample)).toMatchObject({ status: "accepted" });
    const body = tokenExample.split("\n")[0];
    await hook.save({ verifyMode: "hmac" });
    expect(await shell(`${body}\n${hmacExample}`)).toMatchObject({ status: "accepted" });
    await hook.save({ verifyMode: "standard" });
    expect(await shell(`${body}\n${standardExample}`)).toMatchObject({ status: "accepted" });
  });

  test("its hook reports branches, tags and deletions, with all changed files", async () => {
    await hook.save({ verifyMode: "token" });
    const repository = await makeRepository();
    const script = postReceive
      .replace(/^HOOK_URL=.*$/m, `HOOK_URL=${await hook.url()}`)
      .replace(/^SECRET=.*$/m, `SECRET='${secret}'`);
    repository.hook("post-receive", script);
    const commit = await repository.push({ "a.txt": "1" }, { message: 'First "of" all\n\n$(id)' });
    expect(await newest()).toMatchObject({
      ref: "main",
      commit,
      status: "accepted",
      normalized: { message: 'First "of" all\n\n$(id)', paths: null },
    });
    const many = Array.from({ length: 3000 }, (_, n) => `a folder/with-a-name-of-some-length-${n}.txt`);
    await repository.push({ "src/ü.ts": "1", ...Object.fromEntries(many.map((path) => [path, ""])) });
    const { paths } = (await newest()).normalized as { paths: string[] };
    expect(paths.toSorted()).toEqual([...many, "src/ü.ts"].toSorted());
    await repository.git("push", "-q", "origin", "HEAD:refs/tags/v1");
    expect(await newest()).toMatchObject({ event: "tag", ref: "v1", status: "accepted" });
    await repository.git("push", "-q", "origin", ":refs/tags/v1");
    expect(await newest()).toMatchObject({ event: "tag", ref: "v1", code: "ref_deleted" });
  });
});
