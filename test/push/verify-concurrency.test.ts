import { afterAll, expect, test } from "bun:test";
import { executable } from "../support/executable.ts";
import { main } from "../support/program.ts";
import { startPushProcess } from "../support/push-process.ts";
import { startVerifyService } from "../support/verify-service.ts";

const verify = startVerifyService();
afterAll(() => verify.stop());

/** Well above the limit of the runtime, which is 256 unless the program raises it. */
const sockets = 700;

const programs: [string, () => Promise<readonly string[]>][] = [
  ["the executable", async () => [await executable()]],
  ["the program from its sources", async () => [process.execPath, main]],
];

test.each(programs)(
  "%s verifies more codes at a time than the runtime calls by default",
  async (_, command) => {
    const answered = Promise.withResolvers<void>();
    const seen = verify.requests.length;
    // No code is answered before all have arrived, so that only simultaneous calls are enough.
    verify.answer = async (code) => {
      if (verify.requests.length - seen === sockets) answered.resolve();
      await answered.promise;
      return Response.json({ userId: code });
    };
    const gateway = await startPushProcess("verify", { "push-verify-uri": verify.url }, await command());
    const opened: WebSocket[] = [];
    try {
      const results = await Promise.all(
        Array.from({ length: sockets }, (_each, index) => {
          const socket = new WebSocket(`${gateway.url.replace("http", "ws")}/ws?code=user-${index}`);
          opened.push(socket);
          const { promise, resolve } = Promise.withResolvers<string>();
          socket.onopen = () => resolve("admitted");
          socket.onerror = () => resolve("refused");
          return promise;
        }),
      );
      expect(results.filter((result) => result === "admitted")).toHaveLength(sockets);
    } finally {
      for (const socket of opened) socket.close();
      await gateway.stop();
    }
  },
);
