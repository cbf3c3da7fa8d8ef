import { expect, test } from "bun:test";
import { decode, encode } from "../../src/store/sqlite/plain-data.ts";

const long = '"long" text with quotes, '.repeat(10);

test("values that JSON cannot hold come back at their places", () => {
  const value = {
    list: [1, null, undefined, new Date(5), [new Date(6), long]],
    member: { text: long, date: new Date(7), inner: { other: `${long}2`, none: null, yes: true } },
  };
  expect(decode(encode(value))).toEqual(value);
});

test("an invalid date stays one", () => {
  const decoded = decode(encode([new Date(Number.NaN)])) as Date[];
  expect(decoded[0]?.getTime()).toBeNaN();
});

test("a value that is not a list or an object comes back too", () => {
  for (const value of [long, "short", "", 1.5, null, undefined, true, new Date(8)])
    expect(decode(encode(value))).toEqual(value);
});

test("texts that look like the encoding come back unchanged", () => {
  const texts = ["\0", "\0L", "\0U", "\0D5", '["text"]', "\ud800", "__proto__", "é中"];
  expect(decode(encode({ texts, long: texts.join(long) }))).toEqual({ texts, long: texts.join(long) });
});

test("a member named __proto__ comes back as a member", () => {
  const value = JSON.parse(`{"__proto__": ${JSON.stringify(long)}, "inner": {"__proto__": {"a": 1}}}`);
  const decoded = decode(encode(value)) as object;
  expect(Object.entries(decoded)).toEqual(Object.entries(value));
  expect(Object.getPrototypeOf(decoded)).toBe(Object.prototype);
});

test("the given value is not changed", () => {
  const value = { at: new Date(9), texts: [long] };
  encode(value);
  expect(value).toEqual({ at: new Date(9), texts: [long] });
});

test("a value that is not plain data is refused", () => {
  expect(() => encode({ number: 1n })).toThrow("A bigint is not plain data.");
  expect(() => encode([() => 1])).toThrow("A function is not plain data.");
});
