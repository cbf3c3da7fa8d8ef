import { gunzipSync } from "node:zlib";
import { type ConsoleAsset, loadConsole } from "./console-bundle.ts";
import { addressOf } from "./request-address.ts";
import type { Handler } from "./server.ts";

/** Scripts only from our own files; styles may be inline, because the component library positions elements that way. */
const securityHeaders = {
  "content-security-policy": [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "manifest-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join("; "),
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=()",
};

/** Folders of the server's own; a page address never starts with them. */
const notPages = /^\/(api|feign|ws|docs|livez|readyz|metrics|assets)(\/|$)/;

/**
 * Serves the console: its files for ever (their names carry their hash), its one page at every address that a browser
 * opens. Anything else is left to the next part. The bundle is loaded at the first request.
 */
export function consolePages(rootDir: string): Handler {
  let loading: Promise<Map<string, ConsoleAsset>> | null = null;
  const assets = () => {
    loading ??= loadConsole(rootDir).then((list) => new Map(list.map((asset) => [asset.path, asset])));
    // A bundle that failed is tried again at the next request, not remembered as a failure.
    loading.catch(() => {
      loading = null;
    });
    return loading;
  };
  return async (request) => {
    if (request.method !== "GET" && request.method !== "HEAD") return undefined;
    const { pathname } = addressOf(request);
    if (pathname.startsWith("/assets/")) {
      const asset = (await assets()).get(pathname);
      return asset ? answer(request, asset, "public, max-age=31536000, immutable") : undefined;
    }
    if (notPages.test(pathname) || !wantsPage(request)) return undefined;
    const page = (await assets()).get("/");
    return page ? answer(request, page, "no-cache") : undefined;
  };
}

function wantsPage(request: Request): boolean {
  const accept = request.headers.get("accept") ?? "";
  return accept.includes("text/html") || (accept === "*/*" && addressOf(request).pathname === "/");
}

function answer(request: Request, asset: ConsoleAsset, cacheControl: string): Response {
  const headers = new Headers({
    ...securityHeaders,
    "content-type": asset.contentType,
    "cache-control": cacheControl,
    etag: asset.etag,
    vary: "Accept-Encoding",
  });
  if (isUnchanged(request.headers.get("if-none-match"), asset.etag))
    return new Response(null, { status: 304, headers });
  const accepted = request.headers.get("accept-encoding") ?? "";
  const encoding = /\bbr\b/.test(accepted) ? "br" : /\bgzip\b/.test(accepted) ? "gzip" : null;
  if (encoding) headers.set("content-encoding", encoding);
  const body = encoding ? asset[encoding] : gunzipSync(asset.gzip);
  headers.set("content-length", String(body.length));
  return new Response(request.method === "HEAD" ? null : body, { headers });
}

/** Proxies that compress mark a tag as weak. */
function isUnchanged(ifNoneMatch: string | null, etag: string): boolean {
  return (ifNoneMatch ?? "").split(",").some((tag) => tag.trim().replace(/^W\//, "") === etag);
}
