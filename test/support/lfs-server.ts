import { createHash } from "node:crypto";
import { serveGit } from "./git-http-server.ts";

/** The pointer that git stores in the place of a file. */
export function lfsPointer(content: string): string {
  return `version https://git-lfs.github.com/spec/v1\noid sha256:${oidOf(content)}\nsize ${content.length}\n`;
}

function oidOf(content: string): string {
  return createHash("sha256").update(content).digest("hex");
}

/** Bare repositories over HTTP with basic authentication, and the files of their Git LFS. */
export function serveLfs(
  root: string,
  credential: { username: string; token: string },
  files: readonly string[],
) {
  const git = serveGit(root, credential);
  const expected = `Basic ${Buffer.from(`${credential.username}:${credential.token}`).toString("base64")}`;
  const contents = new Map(files.map((content) => [oidOf(content), content]));
  const asked: { path: string; isAuthorized: boolean }[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const { pathname, search, origin } = new URL(request.url);
      if (!pathname.includes("/info/lfs/") && !pathname.startsWith("/files/"))
        return fetch(`${git.url}${pathname}${search}`, {
          ...{ method: request.method, headers: request.headers },
          ...(request.method === "POST" ? { body: await request.arrayBuffer() } : {}),
        });
      const isAuthorized = request.headers.get("authorization") === expected;
      asked.push({ path: pathname, isAuthorized });
      if (!isAuthorized)
        return new Response("{}", {
          status: 401,
          headers: {
            "LFS-Authenticate": 'Basic realm="git"',
            "content-type": "application/vnd.git-lfs+json",
          },
        });
      if (pathname.startsWith("/files/")) return new Response(contents.get(pathname.slice("/files/".length)));
      const { objects } = (await request.json()) as { objects: { oid: string; size: number }[] };
      const answers = objects.map(({ oid, size }) => ({
        ...{ oid, size, authenticated: true },
        ...(contents.has(oid)
          ? { actions: { download: { href: `${origin}/files/${oid}`, header: { Authorization: expected } } } }
          : { error: { code: 404, message: "Object does not exist" } }),
      }));
      return Response.json(
        { transfer: "basic", objects: answers },
        { headers: { "content-type": "application/vnd.git-lfs+json" } },
      );
    },
  });
  return {
    url: server.url.origin,
    asked,
    async stop(): Promise<void> {
      await server.stop(true);
      git.stop();
    },
  };
}
