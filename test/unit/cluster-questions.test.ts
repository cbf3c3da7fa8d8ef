import { expect, test } from "bun:test";
import { ClusterQuestions } from "../../src/push/cluster-questions.ts";

const present = new Map([
  ["a1", "one"],
  ["b1", "two"],
  ["c1", "three"],
]);

test("an instance that does not answer in time is named; one that has ended meanwhile is not", async () => {
  const questions = new ClusterQuestions(() => present);
  const asked = questions.ask("question", async () => {
    questions.receive("question", "a1", { instance: "one", answer: 1 });
    questions.receive("another question", "b1", { instance: "two", answer: 2 });
    present.delete("c1");
  });
  expect(await asked).toEqual({ answers: [{ instance: "one", answer: 1 }], missing: ["two"] });
});

test("a question that cannot be appended is refused, and a late answer to it is ignored", async () => {
  const questions = new ClusterQuestions(() => present);
  const asked = questions.ask("question", () => Promise.reject(new Error("the broker is away")));
  expect(asked).rejects.toThrow("the broker is away");
  await asked.catch(() => {});
  questions.receive("question", "a1", { instance: "one", answer: 1 });
});

test("a question to one process waits for that one alone", async () => {
  const processes = new Map([
    ["a1", "one"],
    ["b1", "two"],
  ]);
  const questions = new ClusterQuestions(() => processes);
  expect([questions.knows("b1"), questions.knows("made up")]).toEqual([true, false]);
  const answered = questions.ask(
    "first",
    async () => questions.receive("first", "b1", { instance: "two", answer: "yes" }),
    "b1",
  );
  expect(await answered).toEqual({ answers: [{ instance: "two", answer: "yes" }], missing: [] });
  const unanswered = questions.ask("second", async () => {}, "b1");
  expect(await unanswered).toEqual({ answers: [], missing: ["two"] });
});
