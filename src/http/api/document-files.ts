import { compressFile, fileResponse } from "../static-file.ts";
import { type ApiDocument, docsPage, docsPolicy } from "./docs-page.ts";

/** An OpenAPI document as JSON and as a page. Both are public, so they are generated once and not for each request. */
export function documentFiles(make: () => ApiDocument, links: Record<string, string>) {
  const document = once(make);
  const json = once(() => compressFile("application/json", encoded(JSON.stringify(document()))));
  const page = once(() => compressFile("text/html; charset=UTF-8", encoded(docsPage(document(), links))));
  return {
    json: async (request: Request) => fileResponse(request, await json(), "no-cache"),
    page: async (request: Request) =>
      fileResponse(request, await page(), "no-cache", { "content-security-policy": docsPolicy }),
  };
}

/** A JSON Schema, for editors. */
export function schemaFile(make: () => object) {
  const file = once(() => compressFile("application/schema+json", encoded(JSON.stringify(make(), null, 2))));
  return async (request: Request) => fileResponse(request, await file(), "no-cache");
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
