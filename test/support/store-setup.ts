import { afterAll } from "bun:test";
import type { Store } from "../../src/model/store.ts";
import type { TestDatabase } from "./databases.ts";

/** A database for the tests of a file or of a `describe` block; it is removed after them. */
export async function setUpStore(
  make: () => Promise<TestDatabase>,
): Promise<{ database: TestDatabase; store: Store }> {
  const database = await make();
  afterAll(() => database.remove());
  return { database, store: await database.open() };
}
