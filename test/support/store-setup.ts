import { afterAll } from "bun:test";
import type { Operation, OperationLock, Store } from "../../src/model/store.ts";
import type { TestDatabase } from "./databases.ts";

/** A database for the tests of a file or of a `describe` block; it is removed after them. */
export async function setUpStore(
  make: () => Promise<TestDatabase>,
): Promise<{ database: TestDatabase; store: Store }> {
  const database = await make();
  afterAll(() => database.remove());
  return { database, store: await database.open() };
}

type AnyRun = (
  operation: Operation<unknown, unknown>,
  input: unknown,
  lock: OperationLock,
) => Promise<unknown>;

/** Gives a replacement for `run` of a store the type of both of its overloads. */
export function runOf(run: AnyRun): Store["run"] {
  return run as unknown as Store["run"];
}
