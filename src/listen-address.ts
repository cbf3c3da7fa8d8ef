/** An address that the server listens on. */
export interface ListenAddress {
  host: string;
  port: number;
}

export function hostAndPort(host: string, port: number | string): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Whether a host of a URL or listen address is loopback. */
export function isLoopbackHost(host: string): boolean {
  return host === "localhost" || host.endsWith(".localhost") || /^(127(\.\d{1,3}){3}|\[?::1\]?)$/.test(host);
}
