import { expect, test } from "bun:test";
import { siDiscord, siTelegram } from "simple-icons";
import { chatMarks } from "../../console/chat-marks.ts";

test("the marks of chat services are those of simple-icons", () => {
  expect(chatMarks).toEqual({ discord: siDiscord.path, telegram: siTelegram.path });
});
