import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { consoleBundle } from "../../src/http/console-bundle.ts";

const root = join(import.meta.dir, "../..");
/** As the component library names the classes of its parts. */
const classes = /\bm_[0-9a-f]{4,8}\b/g;

test("each component in the console has its styles, and the font is inside them", async () => {
  const assets = await consoleBundle.make(root);
  const textOf = (ending: string) =>
    assets
      .filter(({ path }) => path.endsWith(ending))
      .map(({ bodies }) =>
        ("gzip" in bodies ? gunzipSync(bodies.gzip) : Buffer.from(bodies.identity)).toString(),
      )
      .join("\n");
  const styles = textOf(".css");
  const known = new Set(styles.match(classes));
  const all = new Set(
    readFileSync(join(root, "node_modules/@mantine/core/styles.css"), "utf8").match(classes),
  );
  const used = new Set(textOf(".js").match(classes));
  expect([...used].filter((name) => all.has(name) && !known.has(name))).toEqual([]);
  expect(used.size).toBeGreaterThan(50);
  expect(styles).toContain("data:font/woff2;base64,");
});
