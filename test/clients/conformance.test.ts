import { describe, test } from "bun:test";
import { conformanceCases } from "../../clients/conformance/case.ts";
import { runCase } from "../../clients/conformance/run-case.ts";
import { pushClients } from "../support/push-clients.ts";

for (const { name, adapter, abilities } of await pushClients())
  describe.skipIf(adapter === null)(`the client ${name}`, () => {
    const cases = conformanceCases.filter(({ needs }) => needs === null || abilities.includes(needs));
    test.each(cases)("$name: $about", (testCase) => runCase(testCase, adapter ?? []));
  });
