import { expect, test } from "bun:test";
import { buildWriteCheck } from "../../src/store/query/write-check.ts";

/** A database whose disk has the given space, and that takes probes or not. */
function database(space: "enough" | "little" | "none", takes: boolean) {
  const state = { space, takes, probes: 0 };
  const check = buildWriteCheck({
    isRefusal: (error) => error instanceof Error && error.message === "full",
    space: async () => state.space,
    async probe() {
      state.probes++;
      if (!state.takes) throw new Error("full");
    },
  });
  return { state, check };
}

const problem = "the database cannot be written: its disk may be full, or it only reads";

test("with enough space nothing is written to find out whether writes succeed", async () => {
  const { state, check } = database("enough", true);
  for (let asked = 0; asked < 100; asked++) expect(await check.problem()).toBeNull();
  expect(state.probes).toBe(0);
});

test("with little space one probe holds for many questions, asked one by one and at once", async () => {
  const { state, check } = database("little", true);
  await Promise.all(Array.from({ length: 50 }, () => check.problem()));
  for (let asked = 0; asked < 50; asked++) expect(await check.problem()).toBeNull();
  expect(state.probes).toBe(1);
});

test("with no space left it is a problem without a probe, and none once there is space", async () => {
  const { state, check } = database("none", true);
  expect(await check.problem()).toBe(problem);
  state.space = "enough";
  expect(await check.problem()).toBeNull();
  expect(state.probes).toBe(0);
});

test("a write that was refused is a problem until a probe is taken; other failures are none", async () => {
  const { state, check } = database("enough", false);
  await check.watch(Promise.reject(new Error("duplicate"))).catch(() => {});
  expect(await check.problem()).toBeNull();
  await check.watch(Promise.reject(new Error("full"))).catch(() => {});
  for (let asked = 0; asked < 20; asked++) expect(await check.problem()).toBe(problem);
  // A transaction that succeeds may have written nothing.
  await check.watch(Promise.resolve());
  expect(await check.problem()).toBe(problem);
  expect(state.probes).toBe(1);
  state.takes = true;
  await Bun.sleep(1_050);
  expect(await check.problem()).toBeNull();
  expect(state.probes).toBe(2);
});
