/** The program of SQLite's threads: the store, and the operations that it executes. */
import { serveSqliteThread } from "../store/sqlite/thread-program.ts";
import { operations } from "./store-operations.ts";

serveSqliteThread(operations);
