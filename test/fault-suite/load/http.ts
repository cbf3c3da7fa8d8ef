/** A response; status 0: none arrived. */
export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  json: Record<string, unknown>;
}

const noAnswer: Answer = { status: 0, headers: new Headers(), text: "", json: {} };

/** One request on a new connection, because the runtime silently retries on a kept one. */
export async function request(
  method: string,
  url: string,
  options: { body?: unknown; headers?: Record<string, string>; limitMs?: number } = {},
): Promise<Answer> {
  const { body, headers = {}, limitMs = 20_000 } = options;
  try {
    const response = await fetch(url, {
      method,
      keepalive: false,
      headers: {
        connection: "close",
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
      signal: AbortSignal.timeout(limitMs),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, json: objectOf(text) };
  } catch (error) {
    return { ...noAnswer, text: error instanceof Error ? error.message : String(error) };
  }
}

function objectOf(text: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(text)) as Record<string, unknown>;
  } catch {
    return {};
  }
}
