import { describe, expect, test } from "bun:test";
import { buildGate } from "../../src/account/costly-work-limit.ts";
import { buildPasswords } from "../../src/account/password.ts";

describe("passwords", () => {
  test("are stored as argon2id and match only themselves", async () => {
    const passwords = buildPasswords();
    const hash = await passwords.hash("right horse");
    expect(hash).toStartWith("$argon2id$");
    expect(await passwords.matches("right horse", hash)).toBe(true);
    expect(await passwords.matches("wrong horse", hash)).toBe(false);
  });

  test("never match an unknown user, for whom as much is computed", async () => {
    expect(await buildPasswords().matches("anything", null)).toBe(false);
  });
});

test("costly work runs a few at a time, in order, and a flood is refused", async () => {
  const gate = buildGate({ atOnce: 2, waiting: 3 });
  let running = 0;
  let most = 0;
  const order: number[] = [];
  const work = (n: number) => async () => {
    running++;
    most = Math.max(most, running);
    await Promise.resolve();
    order.push(n);
    running--;
    if (n === 1) throw new Error("work may fail");
  };
  const outcomes = await Promise.allSettled(Array.from({ length: 7 }, (_, n) => gate(work(n))));
  expect(order).toEqual([0, 1, 2, 3, 4]);
  expect(most).toBe(2);
  const refused = outcomes.slice(5);
  expect(refused.map((outcome) => outcome.status === "rejected" && outcome.reason.code)).toEqual([
    "too_many",
    "too_many",
  ]);
  expect(await gate(async () => "free again")).toBe("free again");
});
