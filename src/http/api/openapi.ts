import type { OpenAPIHono } from "@hono/zod-openapi";
import { version } from "../../version.ts";
import { csrfHeader, sessionCookie } from "../auth.ts";
import { compressFile, fileResponse } from "../static-file.ts";
import type { ApiEnv } from "./context.ts";
import { type ApiDocument, docsPage, docsPolicy } from "./docs-page.ts";

const about = `Everything that the console and the command line do goes through this API.

**Credentials.** \`Authorization: Bearer <token>\`: a session token from \`POST /api/auth/login\`, or an API token made under
\`/api/tokens\`. The console uses a cookie instead, and then sends the header \`${csrfHeader}: 1\` with every change.

**Errors** are always \`{"error":{"code","message","fields"?}}\`: 400 the body is not JSON, 401 no credential, 403 lacking
permission, 404 missing or invisible, 409 in conflict with what is there, 422 bad input (\`fields\` says where), 429 too many
(\`Retry-After\` says when). Unknown fields are refused by name.

**Lists** take \`page\` (from 1) and \`pageSize\` (at most 200) and answer \`{items,total,page,pageSize}\`, showing only what the
caller may view. Ids are integers, times ISO 8601 in UTC. Every answer carries \`X-Request-Id\`.`;

/** Serves the OpenAPI document, generated from the schemas that validate requests, and the page `/docs`. */
export function describeApi(app: OpenAPIHono<ApiEnv>): void {
  const register = app.openAPIRegistry.registerComponent.bind(app.openAPIRegistry);
  register("securitySchemes", "bearer", { type: "http", scheme: "bearer" });
  register("securitySchemes", "cookie", { type: "apiKey", in: "cookie", name: sessionCookie });
  const document = once(
    () =>
      app.getOpenAPI31Document({
        openapi: "3.1.0",
        info: { title: "Slipway", version, description: about },
      }) as unknown as ApiDocument,
  );
  // Both are public, so they are generated once and not for each request.
  const json = once(() => compressFile("application/json", encoded(JSON.stringify(document()))));
  const page = once(() => compressFile("text/html; charset=UTF-8", encoded(docsPage(document()))));
  app.get("/api/openapi.json", async (c) => fileResponse(c.req.raw, await json(), "no-cache"));
  app.get("/docs", async (c) =>
    fileResponse(c.req.raw, await page(), "no-cache", { "content-security-policy": docsPolicy }),
  );
}

function once<T>(make: () => T): () => T {
  let made: { value: T } | null = null;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

function encoded(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
