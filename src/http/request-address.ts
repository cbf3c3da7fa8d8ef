/** Stands in for a host that was not named, or not in words; nothing looks at it. */
const nowhere = "http://localhost";

/** The address of a request. Where its Host header is missing or no host, the runtime knows the path alone. */
export function addressOf({ url }: Request): URL {
  return isWhole(url) ? new URL(url) : new URL(url, nowhere);
}

/** The request for those who read its address by themselves: it is whole. */
export function withAddress(request: Request): Request {
  return isWhole(request.url) ? request : new Request(addressOf(request), request);
}

function isWhole(url: string): boolean {
  return !url.startsWith("/");
}
