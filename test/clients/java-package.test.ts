import { expect, test } from "bun:test";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { longTest } from "../support/long-test.ts";
import { run } from "../support/service-install.ts";
import { serviceUrl } from "../support/services.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const maven = await serviceUrl("maven");
/** The first run fetches the compiler plugin. */
const buildLimitMs = longTest(10 * 60_000);

test.skipIf(maven === undefined)(
  "Maven compiles the Java client and its adapter",
  async () => {
    const folder = temporaryFolder("java-package");
    await cp(join(import.meta.dir, "../../clients/java"), folder, { recursive: true });
    const build = () => run([maven ?? "", "-q", "-B", "test-compile"], { cwd: folder });
    // A registry may fail once; what was fetched is kept.
    expect((await build()) || (await build())).toBe(true);
    for (const path of ["classes/dev/slipway/push/SlipwayPush", "test-classes/dev/slipway/push/Conformance"])
      expect(await Bun.file(join(folder, `target/${path}.class`)).exists()).toBe(true);
  },
  buildLimitMs,
);
