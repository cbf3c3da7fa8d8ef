import { describe, expect, test } from "bun:test";
import { availableDatabases } from "../support/databases.ts";
import { eventually } from "../support/eventually.ts";
import { type ServerProcess, startServerProcess } from "../support/server-process.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

interface Point {
  at: string;
  connections: number;
  messages: number;
}
interface Gateway {
  hour: Point[];
  day: Point[];
}

const messagesOf = (points: Point[]) => points.reduce((sum, { messages }) => sum + messages, 0);

async function gatewayOf(server: ServerProcess): Promise<Gateway> {
  return (await server.admin.expect<{ gateway: Gateway }>(200, "GET", "/api/overview")).gateway;
}

async function publish(server: ServerProcess, count: number): Promise<void> {
  for (let each = 0; each < count; each++)
    await server.admin.expect(200, "POST", "/api/push/publish", { targetType: "all", data: "hello" });
}

describe("the gateway's figures", async () => {
  test.concurrent.each(await availableDatabases())(
    "survive SIGTERM and kill -9 on $name",
    async ({ make }) => {
      const database = await make();
      const dataDir = temporaryFolder("figures");
      const start = () =>
        startServerProcess(dataDir, { "database-url": database.url, "runner-enabled": "false" });
      let server = await start();
      try {
        await publish(server, 5);
        await server.end("SIGTERM");
        server = await start();
        expect(messagesOf((await gatewayOf(server)).hour)).toBe(5);
        await publish(server, 3);
        await eventually("a sample with the messages", async () => {
          const { hour, day } = await gatewayOf(server);
          return messagesOf(hour) === 8 && messagesOf(day) === 8;
        });
        await server.end("SIGKILL");
        server = await start();
        const { hour, day } = await gatewayOf(server);
        expect([messagesOf(hour), messagesOf(day)]).toEqual([8, 8]);
      } finally {
        await server.end("SIGKILL");
        await database.remove();
      }
    },
    180_000,
  );
});
