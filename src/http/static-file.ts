import { promisify } from "node:util";

/** Content that is the same for all clients, compressed once. */
export interface StaticFile {
  contentType: string;
  etag: string;
  /** Texts are compressed, and few clients ask for them otherwise; images are only as they are. */
  bodies: { br: Body; gzip: Body } | { gzip: Body } | { identity: Body };
}

type Body = Uint8Array<ArrayBuffer>;

/** `quality` of brotli: 10 is 6 % smaller than 9 and takes five times as long. */
export async function compressFile(
  contentType: string,
  content: Uint8Array,
  quality = 9,
): Promise<StaticFile> {
  // Loaded only here: the files of most starts are compressed already.
  const { brotliCompress, constants, gzip } = await import("node:zlib");
  const [br, zipped] = await Promise.all([
    promisify(brotliCompress)(content, {
      params: {
        [constants.BROTLI_PARAM_QUALITY]: quality,
        [constants.BROTLI_PARAM_SIZE_HINT]: content.length,
      },
    }),
    promisify(gzip)(content, { level: 9 }),
  ]);
  const bodies = { br: Uint8Array.from(br), gzip: Uint8Array.from(zipped) };
  return { contentType, etag: etagOf(content), bodies };
}

/** For many files, of which each is read rarely: less room and less time than with brotli too. */
export async function zipFile(contentType: string, content: Uint8Array): Promise<StaticFile> {
  const { gzip } = await import("node:zlib");
  const zipped = Uint8Array.from(await promisify(gzip)(content, { level: 9 }));
  return { contentType, etag: etagOf(content), bodies: { gzip: zipped } };
}

/** A file whose format is compressed already. */
export function plainFile(contentType: string, content: Uint8Array): StaticFile {
  return { contentType, etag: etagOf(content), bodies: { identity: Uint8Array.from(content) } };
}

function etagOf(content: Uint8Array): string {
  return `"${new Bun.CryptoHasher("sha256").update(content).digest("base64url").slice(0, 22)}"`;
}

/** Uncompressed files, which few clients request. */
const plainContent = new WeakMap<StaticFile, Body>();

export function plainOf(file: StaticFile): Body {
  if ("identity" in file.bodies) return file.bodies.identity;
  const known = plainContent.get(file);
  if (known) return known;
  const content = Bun.gunzipSync(file.bodies.gzip);
  plainContent.set(file, content);
  return content;
}

/** Responds in an encoding that the client accepts, or with 304 if the client has the file. */
export function fileResponse(
  request: Request,
  file: StaticFile,
  cacheControl: string,
  more: Record<string, string> = {},
): Response {
  const headers = new Headers({
    ...more,
    "content-type": file.contentType,
    "cache-control": cacheControl,
    etag: file.etag,
    vary: "Accept-Encoding",
  });
  if (isUnchanged(request.headers.get("if-none-match"), file.etag))
    return new Response(null, { status: 304, headers });
  const { encoding, body } = bodyFor(request.headers.get("accept-encoding") ?? "", file);
  if (encoding) headers.set("content-encoding", encoding);
  headers.set("content-length", String(body.length));
  return new Response(request.method === "HEAD" ? null : body, { headers });
}

function bodyFor(accepted: string, file: StaticFile): { encoding: "br" | "gzip" | null; body: Body } {
  const { bodies } = file;
  if ("br" in bodies && acceptsEncoding(accepted, "br")) return { encoding: "br", body: bodies.br };
  if ("gzip" in bodies && acceptsEncoding(accepted, "gzip")) return { encoding: "gzip", body: bodies.gzip };
  return { encoding: null, body: plainOf(file) };
}

/** `gzip;q=0` means that the client does not accept gzip. */
export function acceptsEncoding(header: string, encoding: string): boolean {
  return header.split(",").some((part) => {
    const [name, quality] = part.split(";");
    return name?.trim().toLowerCase() === encoding && !/^\s*q=0(\.0*)?\s*$/i.test(quality ?? "");
  });
}

/** Compressing proxies mark a tag as weak. */
function isUnchanged(ifNoneMatch: string | null, etag: string): boolean {
  return (ifNoneMatch ?? "").split(",").some((tag) => tag.trim().replace(/^W\//, "") === etag);
}
