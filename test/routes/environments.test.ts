import { describe, expect, test } from "bun:test";
import { freePort } from "../support/free-port.ts";
import { makeRepository } from "../support/git-repository.ts";
import { startServerProcess } from "../support/server-process.ts";
import { serviceUrl } from "../support/services.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const caddy = await serviceUrl("caddy");

/** It counts its requests in a data folder, and tells where it runs. */
const app = `const { appendFileSync, readFileSync } = require("node:fs");
require("node:http")
  .createServer((request, response) => {
    appendFileSync("uploads/visits", "x");
    response.end(\`\${process.env.PLACE} \${process.env.CI_COMMIT} \${readFileSync("uploads/visits").length}\`);
  })
  .listen(Number(process.env.PORT), "127.0.0.1");
`;

describe.skipIf(!caddy)("environments behind domains, in sandboxes", () => {
  test("each has its own domain, data and values; a promotion and the way back lose no request", async () => {
    const [http, https] = [freePort(), freePort()];
    const repository = await makeRepository();
    const server = await startServerProcess(temporaryFolder("environments"), {
      ...{ "runner-proxy": "caddy", "runner-caddy-program": caddy ?? "", "runner-isolation": "sandbox" },
      ...{ "runner-http-port": String(http), "runner-https-port": String(https) },
    });
    try {
      const first = await repository.push({ "app.js": app });
      const web = { command: "exec node app.js", check: { tcp: "$PORT" }, stopGrace: 1, drain: 1 };
      const projectId = await server.project(
        repository.url,
        {},
        {
          pipeline: {
            start: { web: { ...web, routes: [{ domains: ["shop.test"], tls: "off" }] } },
            data: ["uploads"],
            scratch: ["cache"],
          },
          environments: [
            {
              name: "staging",
              refs: ["main"],
              env: { PLACE: "staging" },
              domains: { "shop.test": "staging.shop.test" },
              limits: { web: { processes: 40 } },
            },
            { name: "production", from: "staging", env: { PLACE: "production" } },
          ],
        },
      );
      const ask = async (domain: string) => {
        const init = { headers: { Host: domain }, keepalive: false };
        const response = await fetch(`http://127.0.0.1:${http}/`, init);
        return `${response.status} ${await response.text()}`;
      };
      const deploy = async () => server.reach((await server.run(projectId)).id, "success");
      const promote = async () => {
        const path = `/api/projects/${projectId}/promote`;
        const body = { from: "staging", to: "production" };
        const { id } = await server.admin.expect<{ id: number }>(201, "POST", path, body);
        return server.reach(id, "success");
      };
      await deploy();
      expect(await ask("staging.shop.test")).toBe(`200 staging ${first} 1`);
      expect(await ask("staging.shop.test")).toBe(`200 staging ${first} 2`);
      const promoted = await promote();
      expect(await ask("shop.test")).toBe(`200 production ${first} 1`);

      const second = await repository.push({ "more.txt": "more" });
      await deploy();
      expect(await ask("staging.shop.test")).toBe(`200 staging ${second} 3`);
      const answers: string[] = [];
      let isOver = false;
      const asking = (async () => {
        while (!isOver) answers.push(await ask("shop.test"));
      })();
      await promote();
      const { id: back } = await server.admin.expect<{ id: number }>(
        201,
        "POST",
        `/api/projects/${promoted.projectId}/rollback`,
        {},
      );
      await server.reach(back, "success");
      isOver = true;
      await asking;
      expect(answers.filter((answer) => !answer.startsWith("200 production"))).toEqual([]);
      expect(new Set(answers.map((answer) => answer.split(" ")[2]))).toEqual(new Set([first, second]));
      expect(await ask("shop.test")).toStartWith(`200 production ${first} `);

      // Without a domain of its own, an environment is refused with the name of the one that has it.
      const refused = await server.admin.expect<{ error: { fields: { message: string }[] } }>(
        422,
        "PATCH",
        `/api/projects/${projectId}`,
        {
          environments: [
            { name: "staging", refs: ["main"] },
            { name: "production", from: "staging" },
          ],
        },
      );
      expect(refused.error.fields[0]?.message).toContain("shop.test");
    } finally {
      await server.end("SIGINT");
      repository.remove();
    }
  }, 180_000);
});
