/** A proxy that passes plain HTTP on and refuses upgrades, as some company networks do. */
export function startProxyWithoutUpgrades(target: string): { url: string; stop(): Promise<void> } {
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    fetch(request) {
      if (request.headers.has("upgrade")) return new Response("no upgrades here", { status: 403 });
      const { pathname, search } = new URL(request.url);
      const headers = new Headers(request.headers);
      headers.delete("host");
      const { method, body, signal } = request;
      return fetch(target + pathname + search, { method, headers, body, signal, decompress: false });
    },
  });
  return { url: server.url.origin, stop: () => server.stop(true) };
}
