import { expect, test } from "bun:test";
import fc from "fast-check";
import { setUpPush } from "../support/api-setup.ts";
import { eventually } from "../support/eventually.ts";
import { fuzz, mutated, sendBytes } from "../support/fuzz.ts";
import { longTest } from "../support/long-test.ts";
import { PushClient } from "../support/push-client.ts";
import { maskedFrame, upgradeHeaders } from "../support/raw-socket.ts";
import { nastyText } from "../support/schema-values.ts";

longTest(1_200_000);

const push = await setUpPush({ "push.accept-client-message": true });
const friend = await PushClient.open(`${push.wsUrl}?code=friend`);

/** A frame whose header may contradict its payload. */
const wrongFrame = fc
  .record({
    head: fc.nat(255),
    isMasked: fc.boolean(),
    declared: fc.oneof(fc.nat(125), fc.constantFrom(126, 127)),
    more: fc.uint8Array({ maxLength: 300 }),
  })
  .map(({ head, isMasked, declared, more }) =>
    Buffer.concat([Buffer.from([head, (isMasked ? 0x80 : 0) | declared]), more]),
  );

/** Valid and invalid frames of a `slipway.v1` client. */
const command = fc
  .record(
    {
      type: fc.oneof(fc.constantFrom("message", "join", "leave", "welcome"), nastyText),
      channel: fc.oneof(fc.constantFrom("news", "private-x", "*"), nastyText),
      data: fc.oneof(nastyText, fc.jsonValue()),
    },
    { requiredKeys: [] },
  )
  .map((value) => maskedFrame(1, Buffer.from(JSON.stringify(value).toWellFormed())));

const session = fc.record({
  isV1: fc.boolean(),
  bytes: fc.oneof(
    fc.array(fc.oneof(wrongFrame, command), { maxLength: 6 }).map((frames) => Buffer.concat(frames)),
    mutated([
      maskedFrame(1, Buffer.from('{"type":"join","channel":"news"}')),
      Buffer.concat([maskedFrame(9, Buffer.from("ping")), maskedFrame(1, Buffer.from("hello"))]),
      maskedFrame(8, Buffer.from([0x03, 0xe8])),
    ]),
  ),
});

/** An error frame is shorter than this, and after 50 errors in a second the connection is closed. */
const answerMaxBytes = 64 * 1024;

const patienceMs = 5_000;

test("no bytes on an open connection disturb the gateway or the other connections", async () => {
  let tried = 0;
  await fuzz({
    name: "WebSocket frames",
    inputs: { short: 1_500, long: 100_000 },
    arbitrary: session,
    async check({ isV1, bytes }) {
      const answer = await sendBytes(push.port, [handshake(isV1), bytes], patienceMs);
      expect(answer.head).toStartWith("HTTP/1.1 101");
      if (++tried % 100 === 0) await stillServes();
      return { used: answer.bytes, bound: answerMaxBytes };
    },
  });
  await eventually("only the friend holds a place", async () => {
    return (await push.metric("slipway_push_places_taken")) === 1;
  });
}, 1_200_000);

function handshake(isV1: boolean): string {
  const headers = {
    Host: "127.0.0.1",
    ...upgradeHeaders,
    ...(isV1 ? { "Sec-WebSocket-Protocol": "slipway.v1" } : {}),
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return ["GET /ws?code=mallory HTTP/1.1", ...lines, "", ""].join("\r\n");
}

async function stillServes(): Promise<void> {
  friend.frames.length = 0;
  await push.publish({ targetType: "user", target: "friend", data: "still there?" });
  expect(await friend.received(1)).toEqual(["still there?"]);
}
