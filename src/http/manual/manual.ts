import { ownFolder } from "../../own-command.ts";
import { loadBundle, loadedOnce } from "../asset-bundle.ts";
import { addressOf } from "../request-address.ts";
import type { Routes } from "../server.ts";
import { fileResponse } from "../static-file.ts";

const securityHeaders = {
  "content-security-policy": [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; "),
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
};

const prefix = "/manual/";

/** `/manual/`: the pages of docs/, for everybody. They are loaded at the first request, so that a start is not slower. */
export const manualRoutes: Routes = {
  "/manual": { GET: () => redirect(prefix) },
  "/manual/*": { GET: servePage },
};

const files = loadedOnce(async () =>
  loadBundle((await import("./manual-bundle.ts")).manualBundle, ownFolder()),
);

async function servePage(request: Request): Promise<Response> {
  const assets = await files();
  const path = addressOf(request).pathname.slice(prefix.length);
  const asset = assets.get(path === "" || path.endsWith("/") ? `${path}index.html` : path);
  if (asset) {
    const isNamedByHash = /-[a-z0-9]{8}\.(js|css)$/.test(path);
    const caching = isNamedByHash ? "public, max-age=31536000, immutable" : "no-cache";
    return fileResponse(request, asset, caching, securityHeaders);
  }
  // Addresses that people type: /manual/push, /manual/hosts
  for (const other of [`${path}.html`, `${path}/index.html`])
    if (assets.has(other)) return redirect(prefix + other);
  return new Response("The manual has no such page. It begins at /manual/.\n", {
    status: 404,
    headers: { ...securityHeaders, "content-type": "text/plain;charset=utf-8" },
  });
}

function redirect(location: string): Response {
  return new Response(null, { status: 302, headers: { location, ...securityHeaders } });
}
