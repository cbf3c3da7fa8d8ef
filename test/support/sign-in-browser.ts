import type { Answer } from "./api-server.ts";

let browsers = 0;

/** The cookies of a browser, and its requests to the API of one server, by a proxy and from an address of its own. */
export function newBrowser(url: string) {
  const cookies = new Map<string, string>();
  browsers++;
  const address = `10.1.${browsers >> 8}.${browsers & 255}`;
  return {
    cookies,
    async request(
      method: string,
      path: string,
      body?: unknown,
      more: Record<string, string> = {},
    ): Promise<Answer> {
      const response = await fetch(`${url}${path}`, {
        method,
        headers: {
          cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; "),
          "x-slipway-csrf": "1",
          "x-forwarded-for": address,
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...more,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      for (const line of response.headers.getSetCookie()) {
        const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
        if (value === "") cookies.delete(name);
        else cookies.set(name, value);
      }
      const text = await response.text();
      const { status, headers } = response;
      return { status, headers, text, body: text.startsWith("{") ? JSON.parse(text) : text || null };
    },
    /** Begins with a provider; the address that the browser goes to. */
    async begin(name: string, body: object = {}): Promise<string> {
      const answer = await this.request("POST", `/api/auth/providers/${name}/begin`, {
        returnTo: "/",
        ...body,
      });
      if (answer.status !== 200) throw new Error(`begin was answered ${answer.status}: ${answer.text}`);
      return (answer.body as { address: string }).address;
    },
    finish(name: string, query: string): Promise<Answer> {
      return this.request("POST", `/api/auth/providers/${name}/finish`, { query });
    },
  };
}
export type TestBrowser = ReturnType<typeof newBrowser>;
