/**
 * Shows every shared component of the console with sample data, for review:
 *
 *   npm run components         both colour schemes side by side; /light and /dark show one
 *   npm run components -- 0    on another port
 *
 * The page is no part of the console's bundle. It is built anew each time it is loaded.
 */
import { extname, join } from "node:path";

const entry = join(import.meta.dir, "../console/review/review.tsx");

const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Components of the console</title>
    <link rel="icon" href="data:," />
    <link rel="stylesheet" href="/review.css" />
  </head>
  <body>
    <div id="root"></div>
    <script type="module" src="/review.js"></script>
  </body>
</html>`;

export function showComponents(port: number) {
  let files: ReadonlyMap<string, Blob> = new Map();
  return Bun.serve({
    port,
    hostname: "127.0.0.1",
    // A build may take longer than the usual ten seconds on a busy machine.
    idleTimeout: 120,
    async fetch({ url }) {
      const { pathname } = new URL(url);
      const file = files.get(extname(pathname));
      if (file !== undefined) return new Response(file);
      const { outputs } = await Bun.build({ entrypoints: [entry], target: "browser" });
      files = new Map(outputs.map((output) => [extname(output.path), output]));
      return new Response(page, { headers: { "content-type": "text/html;charset=utf-8" } });
    },
  });
}

if (import.meta.main) console.log(`${showComponents(Number(process.argv[2] ?? 8090)).url}`);
