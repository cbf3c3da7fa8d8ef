import { promisify } from "node:util";

/** Content that is the same for all clients, compressed once. */
export interface StaticFile {
  contentType: string;
  etag: string;
  br: Uint8Array<ArrayBuffer>;
  gzip: Uint8Array<ArrayBuffer>;
}

export async function compressFile(contentType: string, content: Uint8Array): Promise<StaticFile> {
  // Loaded only here: the files of most starts are compressed already.
  const { brotliCompress, constants, gzip } = await import("node:zlib");
  const [br, zipped] = await Promise.all([
    promisify(brotliCompress)(content, {
      params: { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_SIZE_HINT]: content.length },
    }),
    promisify(gzip)(content, { level: 9 }),
  ]);
  const etag = `"${new Bun.CryptoHasher("sha256").update(content).digest("base64url").slice(0, 22)}"`;
  return { contentType, etag, br: Uint8Array.from(br), gzip: Uint8Array.from(zipped) };
}

/** Uncompressed files, which few clients request. */
const plainContent = new WeakMap<StaticFile, Uint8Array<ArrayBuffer>>();

function plainOf(file: StaticFile): Uint8Array<ArrayBuffer> {
  const known = plainContent.get(file);
  if (known) return known;
  const content = Bun.gunzipSync(file.gzip);
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
  const accepted = request.headers.get("accept-encoding") ?? "";
  const encoding = acceptsEncoding(accepted, "br") ? "br" : acceptsEncoding(accepted, "gzip") ? "gzip" : null;
  if (encoding) headers.set("content-encoding", encoding);
  const body = encoding ? file[encoding] : plainOf(file);
  headers.set("content-length", String(body.length));
  return new Response(request.method === "HEAD" ? null : body, { headers });
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
