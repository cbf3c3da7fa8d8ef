import { curlExample, type Shapes } from "./docs-example.ts";
import { type DocField, type DocSchema, escapeHtml, fieldTable, prose, schemaBlock } from "./docs-schema.ts";
import { docsStyle } from "./docs-style.ts";

interface Operation {
  tags?: string[];
  summary?: string;
  description?: string;
  parameters?: { name: string; in: string; required?: boolean; description?: string; schema: DocSchema }[];
  requestBody?: { content: Record<string, { schema: DocSchema }> };
  responses: Record<string, { description: string; content?: Record<string, { schema: DocSchema }> }>;
  "x-access"?: string;
  "x-scope"?: string;
}

export interface ApiDocument {
  info: { title: string; version: string; description?: string };
  paths?: Record<string, Record<string, Operation>>;
  components?: { schemas?: Record<string, DocSchema> };
}

interface Endpoint {
  method: string;
  path: string;
  operation: Operation;
}

/** The page has no scripts and loads nothing; its style is allowed by its hash. */
export const docsPolicy = `default-src 'none'; style-src 'sha256-${new Bun.CryptoHasher("sha256").update(docsStyle).digest("base64")}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

const accessWords: Record<string, string> = {
  anonymous: "no sign-in",
  "signed-in": "signed in",
  manager: "manager of any project or group",
  session: "signed in by password",
  admin: "administrators",
  feign: "a key of push.api-keys, or push.internal-networks without keys",
};

/** The header of an example; without an entry: that of an API token. */
const credentials: Record<string, string | null> = {
  anonymous: null,
  feign: "x-api-key: $PUSH_KEY",
};

/** The API as one page, from the OpenAPI document; `links` are other addresses by their texts. */
export function docsPage(document: ApiDocument, links: Record<string, string>): string {
  const endpoints = Object.entries(document.paths ?? {}).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): Endpoint => ({ method, path, operation })),
  );
  const byTag = Map.groupBy(endpoints, ({ operation }) => operation.tags?.[0] ?? "other");
  const shapes = Object.entries(document.components?.schemas ?? {});
  const { title, version, description = "" } = document.info;
  const sections = [...byTag.keys(), "shapes"].map(
    (tag) => `<a href="#${anchor(tag)}">${escapeHtml(tag)}</a>`,
  );
  const places = Object.entries(links).map(([text, href]) => ` · <a href="${href}">${escapeHtml(text)}</a>`);
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>${escapeHtml(title)} API</title><style>${docsStyle}</style></head>
<body><header><h1>${escapeHtml(title)} API</h1><p>Version ${escapeHtml(version)}${places.join("")}</p>
${prose(description)}<nav aria-label="Nouns">${sections.join("")}</nav></header>
<main>${[...byTag].map(([tag, list]) => section(tag, list, document.components?.schemas ?? {})).join("")}
<h2 id="shapes" class="plain">Shapes</h2>${shapes.map(([name, schema]) => shape(name, schema)).join("")}</main></body></html>
`;
}

function anchor(tag: string): string {
  return tag.replaceAll(/[^a-z0-9]+/gi, "-");
}

function section(tag: string, endpoints: Endpoint[], shapes: Shapes): string {
  const blocks = endpoints.map((endpoint) => endpointBlock(endpoint, shapes));
  return `<h2 id="${anchor(tag)}">${escapeHtml(tag)}</h2>${blocks.join("")}`;
}

function endpointBlock({ method, path, operation }: Endpoint, shapes: Shapes): string {
  const access = operation["x-access"] ?? "anonymous";
  const badges = [accessWords[access] ?? `permission: ${access}`];
  if (operation["x-scope"]) badges.push(`token scope: ${operation["x-scope"]}`);
  const parameters = (operation.parameters ?? []).map(
    (parameter): DocField => ({
      name: parameter.name,
      place: parameter.in,
      isRequired: parameter.required ?? false,
      schema: parameter.schema,
      ...(parameter.description ? { description: parameter.description } : {}),
    }),
  );
  const body = operation.requestBody?.content["application/json"]?.schema;
  const credential =
    access in credentials ? (credentials[access] ?? null) : "authorization: Bearer $SLIPWAY_TOKEN";
  const example = curlExample(method, path, credential, body ?? null, shapes);
  return `<details id="${method}-${anchor(path)}"><summary><span class="method ${method}">${method}</span><span class="path">${escapeHtml(path)}</span><span class="title">${escapeHtml(operation.summary ?? "")}</span></summary><div class="body">
${badges.map((badge) => `<span class="badge">${escapeHtml(badge)}</span>`).join("")}
${operation.description ? prose(operation.description) : ""}
${parameters.length > 0 ? `<h3>Parameters</h3>${fieldTable(parameters)}` : ""}
${body ? `<h3>Body</h3>${schemaBlock(body)}` : ""}
<h3>Example</h3><pre class="scroll"><code>${escapeHtml(example)}</code></pre>
<h3>Answers</h3>${answers(operation)}</div></details>`;
}

function answers(operation: Operation): string {
  const rows = Object.entries(operation.responses).map(([status, { description, content }]) => {
    const schema = Object.values(content ?? {})[0]?.schema;
    const block = schema ? schemaBlock(schema) : "";
    return `<tr><th scope="row"><code>${escapeHtml(status)}</code></th><td>${prose(description)}</td><td>${block}</td></tr>`;
  });
  return `<div class="scroll"><table><tbody>${rows.join("")}</tbody></table></div>`;
}

function shape(name: string, schema: DocSchema): string {
  return `<details id="shape-${escapeHtml(name)}"><summary><span class="path">${escapeHtml(name)}</span></summary><div class="body">${schemaBlock(schema)}</div></details>`;
}
