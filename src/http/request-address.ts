/** Replaces a missing or invalid Host header; nothing reads it. */
const placeholder = "http://localhost";

/** The URL of a request. Without a valid Host header, the runtime provides only the path. */
export function addressOf({ url }: Request): URL {
  return isComplete(url) ? new URL(url) : new URL(url, placeholder);
}

/** The request with a complete URL, for code that parses the URL itself. */
export function withAddress(request: Request): Request {
  return isComplete(request.url) ? request : new Request(addressOf(request), request);
}

function isComplete(url: string): boolean {
  return !url.startsWith("/");
}
