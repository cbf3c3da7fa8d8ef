import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { eventually } from "../support/eventually.ts";
import { type PushApp, startPushApp } from "../support/push-app.ts";
import { PushClient } from "../support/push-client.ts";

let push: PushApp;

beforeEach(async () => {
  push = await startPushApp();
});

afterEach(() => push.stop());

const connect = (code: string, query = "") => PushClient.open(`${push.wsUrl}?code=${code}${query}`);

describe("What the service does", () => {
  test("A message can go to all connections, to one user, to one user's temporary connections only, or to a channel", async () => {
    const ann = await connect("ann", "&channel=news");
    const bob = await connect("bob");
    const bobTemporary = await connect("bob", "&temp=1");
    await push.publish({ targetType: "all", target: "", data: "to all" });
    await push.publish({ targetType: "user", target: "bob", data: "to bob" });
    await push.publish({ targetType: "temp_user", target: "bob", data: "to bob's temporary" });
    await push.publish({ targetType: "channel", target: "news", data: "to news" });
    await push.publish({ targetType: "all", data: "end" });
    expect(await ann.heard(3)).toEqual(["to all", "to news", "end"]);
    expect(await bob.heard(3)).toEqual(["to all", "to bob", "end"]);
    expect(await bobTemporary.heard(4)).toEqual(["to all", "to bob", "to bob's temporary", "end"]);
  });

  test("The service reports which users are online on the current instance", async () => {
    await connect("ann");
    await connect("bob", "&temp=1");
    await eventually("ann is online", async () => (await push.online()).length > 0);
    expect(await push.online()).toEqual(["ann"]);
  });
});
