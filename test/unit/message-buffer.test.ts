import { expect, test } from "bun:test";
import { MessageBuffer } from "../../src/push/events/message-buffer.ts";
import type { ClientMessage } from "../../src/push/message/outgoing-event.ts";
import { eventually } from "../support/eventually.ts";

const message = (id: string): ClientMessage => ({
  ...{ v: 1, id, ts: 1, node: "a", connectionId: "c", userId: "42", kind: "normal", data: "x" },
});

test("a message that arrives at the moment when the last one is accepted is sent without a further one", async () => {
  for (let turns = 0; turns < 12; turns++) {
    const accepted: string[] = [];
    const buffer = new MessageBuffer({
      async send(events) {
        accepted.push(...events.map(({ id }) => id));
        if (accepted.length === 1) void addAfter(turns);
      },
    });
    const addAfter = async (count: number) => {
      for (let turn = 0; turn < count; turn++) await undefined;
      buffer.add(message("second"));
    };
    buffer.add(message("first"));
    await eventually(`both are sent, ${turns} turns apart`, () => accepted.length === 2);
    expect(accepted).toEqual(["first", "second"]);
  }
});
