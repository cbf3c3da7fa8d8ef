/** SQLite's threads with the operations of tests beside those of the product. */
import { operations } from "../../src/app/store-operations.ts";
import { serveSqliteThread } from "../../src/store/sqlite/thread-program.ts";
import { testOperations } from "./store-operations.ts";

serveSqliteThread([...operations, ...testOperations]);
