import { hostAndPort, type ListenAddress } from "../listen-address.ts";

/** `server.baseUrl`, else the listen address; "every address" (0.0.0.0, ::) is read as 127.0.0.1. */
export function buildBaseUrl(configured: string | undefined, listen: ListenAddress) {
  let { port } = listen;
  const host = ["0.0.0.0", "::", ""].includes(listen.host) ? "127.0.0.1" : listen.host;
  return {
    /** The address of the server: the setting, or inferred from the listen address. */
    current: () =>
      configured === undefined
        ? { url: `http://${hostAndPort(host, port)}`, isConfigured: false }
        : { url: configured, isConfigured: true },
    /** The port is known only once the server listens. */
    bound(actual: number): void {
      port = actual;
    },
  };
}
