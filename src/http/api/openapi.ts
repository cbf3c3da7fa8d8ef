import type { OpenAPIHono } from "@hono/zod-openapi";
import { pipelineFileSchema, schemaPath } from "../../model/pipeline-file/file-json-schema.ts";
import { version } from "../../version.ts";
import { csrfHeader, sessionCookie } from "../auth.ts";
import type { ApiEnv } from "./context.ts";
import type { ApiDocument } from "./docs-page.ts";
import { documentFiles, schemaFile } from "./document-files.ts";

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
  register("securitySchemes", "cookie", {
    ...{ type: "apiKey", in: "cookie", name: sessionCookie },
    description: `Over https its name is \`__Host-${sessionCookie}\`.`,
  });
  const files = documentFiles(
    () =>
      app.getOpenAPI31Document({
        openapi: "3.1.0",
        info: { title: "Slipway", version, description: about },
      }) as unknown as ApiDocument,
    { "OpenAPI document": "/api/openapi.json", manual: "/manual/", console: "/" },
  );
  app.get("/api/openapi.json", (c) => files.json(c.req.raw));
  app.get("/docs", (c) => files.page(c.req.raw));
  const schema = schemaFile(pipelineFileSchema);
  app.get(schemaPath, (c) => schema(c.req.raw));
}
