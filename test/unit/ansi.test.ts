import { expect, test } from "bun:test";
import fc from "fast-check";
import { piecesOf, plainText } from "../../console/ansi.ts";

const esc = "\u001b";

test("a line without colours is one piece, and markup in it is text", () => {
  expect(piecesOf("<b>hello</b>")).toEqual([{ at: 0, text: "<b>hello</b>", style: null }]);
});

test("the sixteen colours, bold and reset", () => {
  const pieces = piecesOf(`a${esc}[1;31mred${esc}[0m ${esc}[92mgreen`);
  expect(
    pieces.map((piece) => [piece.text, piece.style?.color ?? null, piece.style?.isBold ?? false]),
  ).toEqual([
    ["a", null, false],
    ["red", 1, true],
    [" ", null, false],
    ["green", 10, false],
  ]);
});

test("256 colours and exact ones, for text and background", () => {
  const styles = piecesOf(
    `${esc}[38;5;196mx${esc}[38;5;3my${esc}[48;2;1;2;300mz${esc}[38;5;244mg${esc}[39;49mplain`,
  ).map((piece) => [piece.style?.color ?? null, piece.style?.background ?? null]);
  expect(styles).toEqual([
    ["#ff0000", null],
    [3, null],
    [3, "#0102ff"],
    ["#808080", "#0102ff"],
    [null, null],
  ]);
});

test("what a carriage return overwrote is gone, and a line ending in one is kept", () => {
  expect(plainText("10%\r50%\r100%")).toBe("100%");
  expect(plainText("done\r")).toBe("done");
});

test("titles, links, cursor moves and control characters leave nothing behind", () => {
  expect(
    plainText(`${esc}]0;title\u0007a${esc}]8;;http://x${esc}\\b${esc}[2K${esc}[1Gc\u0000\u0008\td`),
  ).toBe("abc\td");
});

test("no input makes it throw or leave an escape in the text", () => {
  const hostileText = fc.array(
    fc.oneof(fc.string(), fc.constantFrom(esc, `${esc}[`, "[38;5;", "m", ";", "999999", "\r", "\u0007")),
  );
  fc.assert(
    fc.property(hostileText, (parts) => {
      expect(plainText(parts.join(""))).not.toMatch(/(?!\t)\p{Cc}/u);
    }),
  );
});

test("characters that reverse, reorder or hide text are escaped, next to colours too", () => {
  expect(plainText("deploy \u202eexe.gnp\u202c ok\u2066\u200f\u061c\u200b")).toBe(
    "deploy \\u202eexe.gnp\\u202c ok\\u2066\\u200f\\u061c\\u200b",
  );
  expect(plainText(`${esc}[31m\u202ea${esc}[0m`)).toBe("\\u202ea");
});
