import { expect, test } from "bun:test";
import { manualClock } from "../../src/clock.ts";
import { setUpHooks } from "../support/api-setup.ts";
import { makeSqlite } from "../support/databases.ts";
import { deliverTo } from "../support/hook.ts";

const clock = manualClock(Date.UTC(2026, 6, 1));
const server = await setUpHooks(makeSqlite, {}, clock);

test("a second secret is valid until the millisecond before its end, the first one also after", async () => {
  const secondSecretUntil = new Date(clock.now() + 60_000);
  const secrets = { secret: "the new one", secondSecret: "the old one", secondSecretUntil };
  const { url } = await server.project({ ...secrets, debounceSeconds: 0 });
  const statusWith = async (secret: string) => {
    const payload = { event: "push", ref: "refs/heads/main" };
    return (await deliverTo(url, { payload, headers: { "X-CICD-Token": secret } })).status;
  };
  clock.advance(59_999);
  expect([await statusWith("the old one"), await statusWith("the new one")]).toEqual([202, 202]);
  clock.advance(1);
  expect([await statusWith("the old one"), await statusWith("the new one")]).toEqual([401, 202]);
});
