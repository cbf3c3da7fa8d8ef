/** A backend of the push gateway, without dependencies: codes, their verification, publishing, and the files of a page. */
import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { basename, extname, join } from "node:path";

const { GATEWAY = "http://127.0.0.1:8080", PUSH_URL = GATEWAY, PUSH_KEY, PORT = "3000" } = process.env;
const root = join(import.meta.dirname, "../..");
/** The page's files: the folder of the first argument, and the client. */
const folders = [process.argv[2] ?? join(root, "examples/html"), join(root, "dist/slipway-push")];

const codeSeconds = 60;
/** The user of each code that was not used yet. */
const codes = new Map();

const routes = {
  /** The page asks where to connect. */
  "GET /push-url": async () => ({ body: `${PUSH_URL}/ws` }),

  /** The page asks for a code, before each attempt. A real backend takes the user from its session. */
  "POST /push-code": async ({ query }) => {
    const code = randomUUID();
    codes.set(code, query.get("user") ?? "guest");
    setTimeout(() => codes.delete(code), codeSeconds * 1000).unref();
    return { body: code };
  },

  /** The gateway asks for the user of a code (`push.verify-uri`). A code is valid once. */
  "GET /verify": async ({ query }) => {
    const code = query.get("code") ?? "";
    const userId = codes.get(code);
    codes.delete(code);
    return userId === undefined ? { status: 401, body: "unknown code" } : json({ userId });
  },

  /** Something happened that a user should know. */
  "POST /notify": async ({ query, text }) => {
    const answer = await fetch(`${GATEWAY}/feign/publish`, {
      method: "POST",
      headers: { "content-type": "application/json", ...(PUSH_KEY ? { "x-api-key": PUSH_KEY } : {}) },
      body: JSON.stringify({ targetType: "user", target: query.get("user") ?? "guest", data: await text() }),
    });
    return json(await answer.json(), answer.status);
  },
};

const json = (value, status = 200) => ({ status, type: "application/json", body: JSON.stringify(value) });

const types = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css" };

async function file(path) {
  const name = path === "/" ? "index.html" : basename(path);
  for (const folder of folders) {
    const body = await readFile(join(folder, name)).catch(() => null);
    if (body) return { type: types[extname(name)] ?? "application/octet-stream", body };
  }
  return { status: 404, body: "not found" };
}

async function readText(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

const server = createServer(async (request, response) => {
  const { pathname, searchParams: query } = new URL(request.url ?? "/", "http://localhost");
  const route = routes[`${request.method} ${pathname}`];
  try {
    const {
      status = 200,
      type = "text/plain; charset=utf-8",
      body,
    } = route ? await route({ query, text: () => readText(request) }) : await file(pathname);
    response.writeHead(status, { "content-type": type, "cache-control": "no-store" }).end(body);
  } catch (error) {
    response.writeHead(502).end(String(error));
  }
});
server.listen(Number(PORT), "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
