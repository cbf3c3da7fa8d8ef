import { loadBundle, loadedOnce } from "./asset-bundle.ts";
import { consoleBundle, pagePath } from "./console-bundle.ts";
import { languageOf } from "./language.ts";
import { addressOf } from "./request-address.ts";
import type { Handler } from "./server.ts";
import { fileResponse } from "./static-file.ts";

/** Scripts only from our own files; styles may be inline, because the component library positions elements that way. */
const securityHeaders = {
  "content-security-policy": [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src data:",
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

/** Paths of the server itself, which are never pages of the console. */
const notPages = /^\/(api|feign|ws|docs|manual|livez|readyz|metrics|assets)(\/|$)/;

/**
 * Serves the console: its files, which may be cached for ever because their names contain a hash, and its page at every
 * address that a browser opens. Other requests are left to the next part. The bundle is loaded at the first request.
 */
export function consolePages(rootDir: string | null): Handler {
  const assets = loadedOnce(() => loadBundle(consoleBundle, rootDir));
  return async (request) => {
    if (request.method !== "GET" && request.method !== "HEAD") return undefined;
    const { pathname } = addressOf(request);
    if (pathname.startsWith("/assets/")) {
      const asset = (await assets()).get(pathname);
      return asset
        ? fileResponse(request, asset, "public, max-age=31536000, immutable", securityHeaders)
        : undefined;
    }
    if (notPages.test(pathname) || !wantsPage(request)) return undefined;
    const language = languageOf(request);
    const page = (await assets()).get(pagePath(language));
    if (!page) return undefined;
    const response = fileResponse(request, page, "no-cache", securityHeaders);
    response.headers.set("content-language", language);
    response.headers.append("vary", "Accept-Language, Cookie");
    return response;
  };
}

function wantsPage(request: Request): boolean {
  const accept = request.headers.get("accept") ?? "";
  return accept.includes("text/html") || (accept === "*/*" && addressOf(request).pathname === "/");
}
