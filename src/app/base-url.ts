import type { ListenAddress } from "../listen-address.ts";

export interface BaseUrl {
  /** Where the product is reached: by the setting, or inferred from where it listens. */
  current(): { url: string; isConfigured: boolean };
  /** The port is known only once the server listens. */
  bound(port: number): void;
}

/** `server.baseUrl`, else the listen address; "every address" (0.0.0.0, ::) is read as 127.0.0.1. */
export function buildBaseUrl(configured: string | undefined, listen: ListenAddress): BaseUrl {
  let { port } = listen;
  const host = ["0.0.0.0", "::", ""].includes(listen.host) ? "127.0.0.1" : listen.host;
  const written = host.includes(":") ? `[${host}]` : host;
  return {
    current: () =>
      configured === undefined
        ? { url: `http://${written}:${port}`, isConfigured: false }
        : { url: configured, isConfigured: true },
    bound(actual) {
      port = actual;
    },
  };
}
