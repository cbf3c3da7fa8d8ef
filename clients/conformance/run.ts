/**
 * Runs the conformance cases against one client:
 *
 *   bun clients/conformance/run.ts python3 clients/python/conformance.py
 *   bun clients/conformance/run.ts --can handshakeStatus java -cp … Conformance
 */
import { conformanceCases } from "./case.ts";
import { runCase } from "./run-case.ts";

const adapter = process.argv.slice(2);
const abilities: string[] = [];
while (adapter[0] === "--can") abilities.push(...adapter.splice(0, 2).slice(1));

let failed = 0;
const cases = conformanceCases.filter(({ needs }) => needs === null || abilities.includes(needs));
for (const testCase of cases) {
  try {
    await runCase(testCase, adapter);
    console.log(`ok      ${testCase.name}`);
  } catch (error) {
    failed++;
    console.log(`failed  ${error instanceof Error ? error.message : String(error)}`);
  }
}
console.log(`${cases.length - failed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
