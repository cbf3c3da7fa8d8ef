import { Database } from "bun:sqlite";
import { afterAll, describe, expect, test } from "bun:test";
import { manualClock } from "../../src/clock.ts";
import { eventually } from "../support/eventually.ts";
import { registerRunner } from "../support/protocol-runner.ts";
import { startServiceScene } from "../support/service-scene.ts";

const clock = manualClock(Date.now());
const scene = await startServiceScene({}, clock);
afterAll(() => scene.server.stop());
const { deployed, service, report, runner, wanted } = scene;
const { admin } = scene.server;

const text = {
  lines: [
    { position: 100, text: "first" },
    { position: 106, text: "second" },
  ],
  next: 100,
  from: 0,
  to: 113,
  marks: [{ position: 100, at: new Date(clock.now()).toISOString(), kind: "release", taskId: 7 }],
};

describe("the output of a service", () => {
  test("comes from its runner", async () => {
    const shop = await deployed(["web"]);
    const asked = wanted();
    const path = `/api/projects/${shop.projectId}/services/web/output`;
    const answer = admin.expect(200, "GET", `${path}?position=113&lines=2&search=s&waitSeconds=5`);
    const [one, ...more] = await asked;
    expect(more).toEqual([]);
    expect(one).toMatchObject({
      ...{ projectId: shop.projectId, name: "web", position: 113, direction: "backward" },
      ...{ maxLines: 2, search: "s", waitMs: 5000 },
    });
    expect((await runner.post("output-text", { id: "another", ...text, lines: [] })).status).toBe(200);
    expect((await runner.post("output-text", { id: one?.id, ...text })).status).toBe(200);
    expect(await answer).toEqual(text);
  });

  test("that another runner sends is not shown", async () => {
    const shop = await deployed(["web"]);
    const other = await registerRunner(scene.server.url, admin, { name: "other" });
    const asked = wanted();
    const answer = admin.expect<{ lines: unknown[] }>(
      200,
      "GET",
      `/api/projects/${shop.projectId}/services/web/output`,
    );
    const [one] = await asked;
    await other.post("output-text", { id: one?.id, ...text });
    await runner.post("output-text", { id: one?.id, ...text, lines: [] });
    expect((await answer).lines).toEqual([]);
  });

  test("that the runner cannot read is refused with its sentence", async () => {
    const shop = await deployed(["web"]);
    const asked = wanted();
    const answer = admin.request("GET", `/api/projects/${shop.projectId}/services/web/output`);
    const [one] = await asked;
    const fault = "The file of the output is gone.";
    await runner.post("output-text", { id: one?.id, ...text, lines: [], marks: [], fault });
    expect(await answer).toMatchObject({ status: 503, body: { error: { message: fault } } });
  });

  test("a runner that is away is said to be away", async () => {
    const shop = await deployed(["web"]);
    const path = `/api/projects/${shop.projectId}/services/web/output`;
    clock.advance(31_000);
    const answer = await admin.request("GET", path);
    expect(answer).toMatchObject({
      status: 503,
      body: { error: { message: "The runner by hand is away; try again when it is connected." } },
    });
    await report(service(shop));
    expect((await admin.request("GET", `${path.replace("web", "other")}`)).status).toBe(404);
  });

  test("a reader who leaves leaves nothing behind", async () => {
    const shop = await deployed(["web"]);
    const leaving = new AbortController();
    const asked = wanted();
    const { token } = await admin.expect<{ token: string }>(201, "POST", "/api/tokens", {
      ...{ name: "reader", scopes: ["read"] },
    });
    const reading = fetch(
      `${scene.server.url}/api/projects/${shop.projectId}/services/web/output?waitSeconds=25`,
      { signal: leaving.signal, headers: { authorization: `Bearer ${token}` } },
    ).catch(() => null);
    await asked;
    leaving.abort();
    await reading;
    await eventually("no read is left", async () => {
      using db = new Database(`${scene.server.dataDir}/slipway.db`, { readonly: true });
      return (db.query("select count(*) as n from output_reads").get() as { n: number }).n === 0;
    });
  });
});
