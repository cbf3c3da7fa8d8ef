import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { createMiddleware } from "hono/factory";
import { acceptsEncoding } from "../static-file.ts";
import type { ApiEnv } from "./context.ts";

/** Shorter answers fit in a packet anyway. */
const minBytes = 1400;
const compress = promisify(gzip);

/**
 * Compresses long answers. Only for endpoints that answer no secret: the length of compressed text reveals what it
 * repeats.
 */
export const compressed = createMiddleware<ApiEnv>(async (c, next) => {
  await next();
  c.header("vary", "Accept-Encoding", { append: true });
  if (c.res.status !== 200 || c.res.headers.has("content-encoding")) return;
  if (!acceptsEncoding(c.req.header("accept-encoding") ?? "", "gzip")) return;
  const body = new Uint8Array(await c.res.arrayBuffer());
  const headers = new Headers(c.res.headers);
  headers.delete("content-length");
  const isLong = body.length >= minBytes;
  if (isLong) headers.set("content-encoding", "gzip");
  c.res = new Response(isLong ? Uint8Array.from(await compress(body, { level: 5 })) : body, {
    status: 200,
    headers,
  });
});
