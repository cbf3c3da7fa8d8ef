import { expect, test } from "bun:test";
import {
  messageFrames,
  positionFrame,
  resumePositionOf,
  welcomeFrame,
} from "../../src/push/message/frames.ts";
import { positionOf } from "../../src/push/message/position.ts";
import { commentOf, eventOf } from "../../src/push/message/server-sent-event.ts";

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

test.each(["plain", 'a "quoted" \\ id', "\u2028"])(
  "the position of a message is found behind the id %p",
  (id) => {
    const message = {
      id,
      offset: 40,
      ts: 1,
      targetType: "all" as const,
      target: "",
      data: '"position":"9.x"',
    };
    const frame = messageFrames({
      ...message,
      idempotencyKey: undefined,
      caller: "",
      ageMs: 0,
      receivers: 0,
      ack: false,
      trace: null,
    })("");
    expect(resumePositionOf(frame)).toBe(positionOf(40, id));
    expect(text(eventOf(frame))).toBe(`id: ${positionOf(40, id)}\ndata: ${frame}\n\n`);
  },
);

test("a welcome has the client's position only if no missed messages follow it", () => {
  const welcome = {
    connectionId: "c",
    userId: "ann",
    kind: "normal" as const,
    channels: [],
    acceptsMessages: false,
    pingIntervalMs: 1,
    expiresAt: null,
    lastId: "7.x",
  };
  expect(resumePositionOf(welcomeFrame({ ...welcome, recovered: false }))).toBe("7.x");
  expect(resumePositionOf(welcomeFrame({ ...welcome, recovered: true }))).toBeNull();
  expect(resumePositionOf(positionFrame("8.y"))).toBe("8.y");
  // An empty id would make an EventSource forget its position.
  expect(resumePositionOf(positionFrame(""))).toBeNull();
  expect(resumePositionOf("ping")).toBeNull();
});

test("a heartbeat content of several lines is one event", () => {
  expect(text(eventOf("a\r\nb\rc\nd"))).toBe("data: a\ndata: b\ndata: c\ndata: d\n\n");
  expect(text(commentOf("a\nb"))).toBe(": a\n: b\n\n");
});
