import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { cp, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { SlipwayPush } from "../../client/slipway-push.ts";
import { eventually } from "../support/eventually.ts";
import { type ExampleScene, examplesFolder, startExample } from "../support/examples.ts";
import { longTest } from "../support/long-test.ts";
import { run } from "../support/service-install.ts";
import { serviceUrl } from "../support/services.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const [maven, javac] = [await serviceUrl("maven"), await serviceUrl("javac")];
/** The first run fetches Spring Boot. */
const buildLimitMs = longTest(10 * 60_000);

describe.skipIf(maven === undefined || javac === undefined)("the example for Spring Boot", () => {
  const folder = temporaryFolder("example-spring-boot");
  let scene: ExampleScene;

  beforeAll(async () => {
    await cp(join(examplesFolder, "spring-boot"), folder, { recursive: true });
    const goals = ["compile", "dependency:build-classpath", "-Dmdep.outputFile=target/classpath"];
    const build = () => run([maven ?? "", "-q", "-B", ...goals], { cwd: folder });
    // A registry may fail once; what was fetched is kept.
    if (!((await build()) || (await build())))
      throw new Error("Maven could not build the example; see above.");
    const libraries = (await readFile(join(folder, "target/classpath"), "utf8")).trim();
    const java = join(dirname(javac ?? ""), "java");
    const classes = `${join(folder, "target/classes")}:${libraries}`;
    const options = ["-XX:TieredStopAtLevel=1", "-Xmx256m", "-cp", classes];
    scene = await startExample([java, ...options, "dev.slipway.example.ExampleApplication"]);
  }, buildLimitMs);
  afterAll(() => scene?.stop());

  test("it makes codes, verifies them, publishes and reads who is online", async () => {
    const messages: string[] = [];
    const push = new SlipwayPush({
      url: await (await fetch(`${scene.url}/push-url`)).text(),
      code: async () => (await fetch(`${scene.url}/push-code?user=ann`, { method: "POST" })).text(),
    });
    push.on("message", ({ data }) => messages.push(data));
    push.open();
    await eventually("it is open", () => push.status.state === "open");
    expect((await fetch(`${scene.url}/verify?code=never-made`)).status).toBe(401);
    await scene.notify("ann", "your order has shipped");
    await eventually("the message arrived", () => messages.length > 0);
    expect(messages).toEqual(["your order has shipped"]);
    expect(await (await fetch(`${scene.url}/online`)).json()).toEqual(["ann"]);
    push.close();
  });
});
