/** The admin API of a Caddy. */
export interface CaddyAdmin {
  isUp(): Promise<boolean>;
  /** Null: done, or nothing has changed. Otherwise what Caddy says, and the earlier configuration stays. */
  load(config: unknown): Promise<string | null>;
}

const timeoutMs = 20_000;

/** `address`: the path of a Unix socket, or a URL. */
export function openCaddyAdmin(address: string): CaddyAdmin {
  const isSocket = address.startsWith("/");
  const base = isSocket ? "http://localhost" : address.replace(/\/$/, "");
  const call = (path: string, init: RequestInit) =>
    fetch(`${base}${path}`, {
      ...init,
      ...(isSocket ? { unix: address } : {}),
      keepalive: false,
      signal: AbortSignal.timeout(timeoutMs),
    });
  return {
    async isUp() {
      try {
        const response = await call("/config/admin", {});
        await response.arrayBuffer();
        return response.ok;
      } catch {
        return false;
      }
    },
    async load(config) {
      const response = await call("/load", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(config),
      });
      const text = await response.text();
      if (response.ok) return null;
      try {
        return String((JSON.parse(text) as { error?: unknown }).error ?? text);
      } catch {
        return text;
      }
    },
  };
}
