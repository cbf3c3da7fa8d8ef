import { expect, test } from "bun:test";
import pino from "pino";
import { Inbox } from "../../src/bus/inbox.ts";

function inbox() {
  const losses = { count: 0 };
  const recall = { windowMs: 1_000, handle() {} };
  const onLoss = () => void losses.count++;
  return { losses, inbox: new Inbox(() => {}, onLoss, recall, pino({ level: "silent" })) };
}

test("a loss asks for a recall, and another order does not: no message is missing", () => {
  const { losses, inbox: topic } = inbox();
  topic.endRecall();
  topic.reportReordered();
  expect([losses.count, topic.recallWindowMs]).toEqual([1, null]);
  topic.reportLoss();
  expect([losses.count, topic.recallWindowMs]).toEqual([2, 1_000]);
});
