import { expect, test } from "bun:test";
import { resolve } from "node:path";
import { describeUnits, unitNames, unitOf, valuesOf } from "../support/systemd-units.ts";

test("the shipped systemd units have two users, and the server's folder is closed to the runner's", async () => {
  const [server, runner] = await Promise.all(unitNames.map(unitOf));
  expect(valuesOf(server ?? "", "User")).toEqual(["slipway"]);
  expect(valuesOf(runner ?? "", "User")).toEqual(["slipway-runner"]);
  expect(valuesOf(server ?? "", "StateDirectoryMode")).toEqual(["0700"]);
  expect(valuesOf(server ?? "", "UMask")).toEqual(["0077"]);
  expect(valuesOf(server ?? "", "Environment")).toContain("SLIPWAY_RUNNER_ENABLED=false");
});

test("the runner's unit allows what sandboxes and their limits need", async () => {
  const runner = await unitOf("slipway-runner.service");
  expect(valuesOf(runner, "ProtectKernelTunables")).toEqual([]);
  expect(valuesOf(runner, "ProtectControlGroups")).toEqual([]);
  expect(valuesOf(runner, "Delegate")).toEqual(["yes"]);
});

describeUnits(resolve(import.meta.dir, "../.."));
