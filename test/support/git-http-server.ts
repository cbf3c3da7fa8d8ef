import { dirname } from "node:path";
import type { Certificate } from "./certificate.ts";

/** Serves bare repositories over HTTP, or HTTPS with a certificate, with basic authentication, by git's own `http-backend`. */
export function serveGit(
  root: string,
  credential: { username: string; token: string } | null,
  beforeAnswer: (path: string) => Promise<void> = async () => {},
  certificate?: Certificate,
) {
  const requests: { path: string; authorized: boolean }[] = [];
  const expected =
    credential && `Basic ${Buffer.from(`${credential.username}:${credential.token}`).toString("base64")}`;
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    ...(certificate ? { tls: { cert: certificate.certificate, key: certificate.key } } : {}),
    async fetch(request) {
      const url = new URL(request.url);
      const authorized = expected === null || request.headers.get("authorization") === expected;
      requests.push({ path: url.pathname, authorized });
      if (!authorized)
        return new Response("", { status: 401, headers: { "www-authenticate": 'Basic realm="git"' } });
      await beforeAnswer(url.pathname);
      return gitBackend(request, url, root);
    },
  });
  return { url: server.url.origin, requests, stop: () => server.stop(true) };
}

/** Answers one request of git for a repository below `root`. */
export async function gitBackend(request: Request, url: URL, root: string): Promise<Response> {
  const child = Bun.spawn(["git", "http-backend"], {
    cwd: dirname(root),
    stdin: new Blob([await request.arrayBuffer()]),
    stdout: "pipe",
    stderr: "ignore",
    env: {
      PATH: process.env.PATH,
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: "1",
      REQUEST_METHOD: request.method,
      PATH_INFO: url.pathname,
      QUERY_STRING: url.search.slice(1),
      CONTENT_TYPE: request.headers.get("content-type") ?? "",
      GIT_PROTOCOL: request.headers.get("git-protocol") ?? "",
      HTTP_CONTENT_ENCODING: request.headers.get("content-encoding") ?? "",
      REMOTE_USER: "tester",
    },
  });
  const output = new Uint8Array(await new Response(child.stdout).arrayBuffer());
  const text = Buffer.from(output).toString("latin1");
  const end = text.indexOf("\r\n\r\n");
  const headers = new Headers();
  let status = 200;
  for (const line of text.slice(0, end).split("\r\n")) {
    const [name = "", value = ""] = line.split(/: (.*)/s);
    if (name.toLowerCase() === "status") status = Number.parseInt(value, 10);
    else if (name) headers.set(name, value);
  }
  return new Response(output.slice(end + 4), { status, headers });
}
