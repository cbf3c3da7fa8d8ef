import { parentPort, workerData } from "node:worker_threads";
import type { AnyOperation } from "../../model/store.ts";
import { callKeeper } from "../keepers/keeper-calls.ts";
import { buildKeepers } from "../keepers/keepers.ts";
import { buildUpkeep } from "../keepers/upkeep.ts";
import { sqliteDialect } from "../query/dialect.ts";
import { databaseOver, type Execute } from "../query/kysely-dialect.ts";
import { buildLogSync } from "./log-sync.ts";
import { openReader, openWriter, truncateLog } from "./open-file.ts";
import { decode, encode, type Message } from "./plain-data.ts";
import type { SqliteConnection } from "./sqlite-connection.ts";
import {
  type CallGroup,
  closeMessage,
  failureOf,
  type GroupAnswer,
  type Outcome,
  slotState,
  type ThreadCall,
  type ThreadData,
} from "./thread-message.ts";
import { buildGroupWriter } from "./write-group.ts";

type HandleGroup = (group: CallGroup) => Promise<void>;

/** What runs on a thread of the SQLite store: one connection, and the operations and calls that it is sent. */
export function serveSqliteThread(operations: readonly AnyOperation[]): void {
  if (parentPort === null) throw new Error("This program runs on a thread of the store.");
  const port = parentPort;
  const { file, role, slots } = workerData as ThreadData;
  const post = (answer: GroupAnswer) => port.postMessage(encode(answer));
  const isAbandoned = ({ slot }: ThreadCall) =>
    slot !== null &&
    Atomics.compareExchange(slots, slot, slotState.waiting, slotState.begun) === slotState.abandoned;

  async function open(): Promise<{ connection: SqliteConnection; handle: HandleGroup }> {
    const connection = role === "writer" ? await openWriter(file) : openReader(file);
    const executor = buildExecutor(connection, operations);
    const execute = async (call: ThreadCall): Promise<Outcome> =>
      isAbandoned(call) ? "timeout" : { value: await executor.perform(call) };
    if (role === "reader")
      return {
        connection,
        async handle({ nowMs, calls }) {
          executor.setTime(nowMs);
          const outcomes: Outcome[] = [];
          for (const call of calls)
            outcomes.push(await execute(call).catch((error: unknown) => ({ failure: failureOf(error) })));
          post({ outcomes, hasWritten: false });
        },
      };
    const write = buildGroupWriter(connection, execute);
    const sync = buildLogSync(`${file}-wal`, post);
    return {
      connection,
      async handle({ nowMs, calls }) {
        executor.setTime(nowMs);
        const failure = sync.failure();
        sync.answer(failure === null ? await write(calls) : { failure });
      },
    };
  }

  function close(connection: SqliteConnection): void {
    if (role === "writer") truncateLog(connection);
    connection.close();
  }

  const opening = open();
  async function handle(message: Message | typeof closeMessage): Promise<void> {
    if (message === closeMessage) {
      await opening.then(({ connection }) => close(connection)).catch(() => {});
      port.postMessage(closeMessage);
      return;
    }
    try {
      await (await opening).handle(decode(message) as CallGroup);
    } catch (error) {
      post({ failure: failureOf(error) });
    }
  }

  let last: Promise<unknown> = opening.catch(() => {});
  port.on("message", (message: Message | typeof closeMessage) => {
    last = last.then(() => handle(message));
  });
}

/** Executes operations and calls of keepers on a connection. */
function buildExecutor(connection: SqliteConnection, operations: readonly AnyOperation[]) {
  const table = new Map(operations.map((operation) => [operation.name, operation]));
  const execute: Execute = async (query) => connection.execute(query);
  const scope = { db: databaseOver(sqliteDialect, execute), execute, dialect: sqliteDialect };
  let time = new Date(0);
  const keepers = { ...buildKeepers(scope), upkeep: buildUpkeep(scope), now: () => time };
  return {
    setTime(nowMs: number) {
      time = new Date(nowMs);
    },
    async perform({ name, parameters }: ThreadCall): Promise<unknown> {
      const [noun = "", method] = name.split(".");
      if (method !== undefined) return callKeeper(keepers, { noun, method, parameters });
      const operation = table.get(name);
      if (operation === undefined) throw new Error(`The operation ${name} is not registered.`);
      return operation.run(keepers, parameters[0] as never);
    },
  };
}
