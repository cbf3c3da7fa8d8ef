import { expect, test } from "bun:test";
import type { MessageReport } from "../../src/model/gateway/message-report.ts";
import { setUpPush } from "../support/api-setup.ts";
import { eventually } from "../support/eventually.ts";
import { PushClient } from "../support/push-client.ts";

const push = await setUpPush();

const publish = (body: object) => push.publish({ targetType: "channel", data: "hello", ...body });
const open = (code: string) => PushClient.open(`${push.wsUrl}?code=${code}`, ["slipway.v1"]);
const reportOf = async (user: string) =>
  ((await (await push.get(`/feign/messages?user=${user}`)).json()) as { data: MessageReport }).data;
/** Of the messages to channels, oldest first. */
const causesOf = async (user: string) =>
  (await reportOf(user)).messages
    .filter(({ targetType }) => targetType === "channel")
    .map(({ cause }) => cause)
    .reverse();

test("the trace of a user has the messages to channels in which the user is or was, with the reason", async () => {
  const toNews = () => publish({ targetType: "channel", target: "news" });
  await toNews();
  const client = await open("61&channel=news");
  await client.receivedType("welcome");
  await toNews();
  await publish({ targetType: "channel", target: "other" });
  client.send(JSON.stringify({ type: "leave", channel: "news" }));
  await client.receivedType("left");
  await toNews();
  const [early, member, left, ...more] = await causesOf("61");
  expect(more).toEqual([]);
  expect(early).toMatchObject({ code: "trace_joined_later", values: { user: "61", channel: "news" } });
  expect(member).toMatchObject({ code: "trace_member", values: { own: "1", channel: "news" } });
  expect(left).toMatchObject({ code: "trace_left_channel" });
  client.send(JSON.stringify({ type: "join", channel: "news" }));
  await client.receivedType("joined");
  client.socket.close(3001);
  await client.ended();
  await eventually(
    "the connection is closed",
    async () => (await reportOf("61")).user?.connections.length === 0,
  );
  await toNews();
  expect((await causesOf("61")).at(-1)).toMatchObject({
    code: "trace_left_by_close",
    values: { code: "3001" },
  });
  // Somebody who never was in the channel has no message of it.
  expect(await causesOf("62")).toEqual([]);
});

test("it says of a message to a channel that was missed that the client resumed", async () => {
  const before = await open("63&channel=resumed");
  const [{ lastId } = { lastId: "" }] = await before.receivedType("welcome");
  before.close();
  await before.ended();
  await publish({ targetType: "channel", target: "resumed", data: "missed" });
  const after = await open(`63&channel=resumed&resume=${lastId}`);
  await eventually("it arrives", () => after.messages.some((frame) => frame.includes("missed")));
  expect((await causesOf("63")).at(-1)).toMatchObject({ code: "trace_resumed_later" });
  after.close();
});

test("it says where the user is, and since when not", async () => {
  const client = await open("64&channel=here");
  await client.receivedType("welcome");
  expect((await reportOf("64")).user).toMatchObject({
    connections: [{ userId: "64", kind: "normal", channels: ["here"], instance: expect.any(String) }],
    lastClosed: null,
  });
  client.socket.close(3002);
  await client.ended();
  await eventually("the gateway knows", async () => {
    const { user } = await reportOf("64");
    return user?.connections.length === 0 && user.lastClosed?.closeCode === 3002;
  });
  const { user } = await reportOf("nobody");
  expect(user).toMatchObject({ connections: [], lastClosed: null });
  expect(Date.parse(user?.since ?? "")).toBeLessThanOrEqual(Date.now());
});
