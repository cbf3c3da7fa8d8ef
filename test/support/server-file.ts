import { Database } from "bun:sqlite";
import { join } from "node:path";

/** The SQLite file of a server, to be changed beside it: its own transactions are waited for. */
export function openServerFile(dataDir: string): Database {
  const file = new Database(join(dataDir, "slipway.db"), { readwrite: true });
  file.run("pragma busy_timeout = 10000");
  return file;
}
