import { describe, expect, test } from "bun:test";
import { freshPrefix } from "../support/buses.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { main } from "../support/program.ts";
import { serviceUrl } from "../support/services.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const amqp = await serviceUrl("amqp");

function start(command: readonly string[], flags: Record<string, string>) {
  const all = { "data-dir": temporaryFolder("start-text"), ...flags };
  const child = Bun.spawn(
    [...command, ...Object.entries(all).flatMap(([name, value]) => [`--${name}`, value])],
    {
      stdin: "ignore",
      stdout: "ignore",
      stderr: "pipe",
    },
  );
  let said = "";
  const reading = (async () => {
    for await (const chunk of child.stderr) said += Buffer.from(chunk);
  })();
  return {
    said: () => said,
    async end() {
      child.kill("SIGKILL");
      await child.exited;
    },
    async ended() {
      await reading;
      return { exitCode: await child.exited, said };
    },
  };
}

describe.each(["1", "2"])("the first line of a gateway with %s workers", (workers) => {
  test.skipIf(!amqp)("says that it is ready only if /readyz does, and otherwise why not", async () => {
    const broker = new URL(amqp ?? "");
    const proxy = startTcpProxy({ hostname: broker.hostname, port: Number(broker.port) });
    proxy.cut();
    broker.port = String(proxy.port);
    const listen = `127.0.0.1:${freePort()}`;
    const gateway = start([process.execPath, main, "push", "--push-cluster-enabled"], {
      "server-listen": listen,
      "push-workers": workers,
      "push-verify-uri": "http://127.0.0.1:9/verify",
      "push-queue-url": broker.href.replace(/\/$/, ""),
      "push-queue-prefix": freshPrefix(),
    });
    try {
      await eventually("it says something", () => gateway.said().includes("/readyz"));
      expect(gateway.said()).toMatch(
        new RegExp(`^\\nSlipway \\S+ listens at http://${listen} and is not ready: .*queue: `),
      );
      expect(gateway.said()).not.toContain("is ready at");
      expect((await fetch(`http://${listen}/readyz`)).status).toBe(503);
      proxy.restore();
      await eventually("it says that it is ready", () =>
        gateway.said().includes(`is ready at http://${listen}\n`),
      );
      expect((await fetch(`http://${listen}/readyz`)).status).toBe(200);
    } finally {
      await gateway.end();
      proxy.stop();
    }
  });
});

describe("the limit of open files", () => {
  const limited = (files: number) => [
    "sh",
    "-c",
    `ulimit -n ${files} && exec "$@"`,
    "sh",
    process.execPath,
    main,
  ];

  test.each(["start", "push", "deploy"])(
    "below 1,024 is refused by %s, with the command that raises it",
    async (role) => {
      const { exitCode, said } = await start([...limited(400), role], {
        "server-listen": "127.0.0.1:0",
        "push-verify-uri": "http://127.0.0.1:9/verify",
      }).ended();
      expect([exitCode, said]).toEqual([
        2,
        expect.stringMatching(
          /^This process may open only 400 files, and a server needs 1024 or more.*`ulimit -n 65536`/,
        ),
      ]);
    },
  );

  test("of 1,024 is enough", async () => {
    const gateway = start([...limited(1024), "push"], {
      "server-listen": "127.0.0.1:0",
      "push-verify-uri": "http://127.0.0.1:9/verify",
    });
    await eventually("it is ready", () => gateway.said().includes("is ready at"));
    expect(gateway.said()).toContain("push.max-connections is lowered to 524");
    await gateway.end();
  });
});
