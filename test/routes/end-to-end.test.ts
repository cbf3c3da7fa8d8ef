import { describe, expect, test } from "bun:test";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { makeRepository } from "../support/git-repository.ts";
import { startServerProcess } from "../support/server-process.ts";
import { serviceUrl } from "../support/services.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const caddy = await serviceUrl("caddy");

const app = `require("node:http")
  .createServer((request, response) => {
    let length = 0;
    request.on("data", (bytes) => (length += bytes.length));
    request.on("end", () => response.end(\`\${process.env.CI_COMMIT} \${length}\`));
  })
  .listen(Number(process.env.PORT), "127.0.0.1");
`;

describe.skipIf(!caddy)("a project with a route", () => {
  test("a push is deployed behind the domain; a step with `pause` holds requests and loses none", async () => {
    const [http, https] = [freePort(), freePort()];
    const repository = await makeRepository();
    const server = await startServerProcess(temporaryFolder("routes"), {
      ...{ "runner-proxy": "caddy", "runner-caddy-program": caddy ?? "" },
      ...{ "runner-http-port": String(http), "runner-https-port": String(https) },
    });
    try {
      const first = await repository.push({ "app.js": app });
      const web = { command: "exec node app.js", check: { http: "/" }, stopGrace: 1, drain: 5 };
      const projectId = await server.project(
        repository.url,
        {},
        {
          pipeline: {
            deploy: [{ script: "sleep 2", pause: true }],
            start: { web: { ...web, routes: [{ domains: ["shop.test"], tls: "off" }] } },
          },
        },
      );
      const ask = async () => {
        const startedAt = performance.now();
        const init = { method: "POST", body: "abc", headers: { Host: "shop.test" }, keepalive: false };
        const response = await fetch(`http://127.0.0.1:${http}/`, init);
        return { text: await response.text(), status: response.status, ms: performance.now() - startedAt };
      };
      const deploy = async () => {
        const { id } = await server.run(projectId);
        await server.reach(id, "success");
      };
      await deploy();
      expect(await ask()).toMatchObject({ status: 200, text: `${first} 3` });
      const second = await repository.push({ "more.txt": "more" });
      const answers: Awaited<ReturnType<typeof ask>>[] = [];
      let isOver = false;
      const asking = (async () => {
        while (!isOver) answers.push(await ask());
      })();
      await deploy();
      await eventually("the second one answers", () => answers.at(-1)?.text === `${second} 3`);
      isOver = true;
      await asking;
      expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
      expect(Math.max(...answers.map(({ ms }) => ms))).toBeGreaterThan(1500);
      const { items } = await server.admin.expect<{ items: { proxy: string | null }[] }>(
        200,
        "GET",
        "/api/runners",
      );
      expect(items.map(({ proxy }) => proxy)).toEqual(["caddy"]);
    } finally {
      await server.end("SIGINT");
      repository.remove();
    }
  }, 180_000);
});
