/** The response of the verify service to a code; by default the code is the user id. */
export type VerifyAnswer = (code: string, request: Request) => Response | Promise<Response>;

export interface VerifyService {
  url: string;
  /** Requests seen, in order. */
  requests: { method: string; url: URL; body: string }[];
  answer: VerifyAnswer;
  stop(): Promise<void>;
}

/** A service for verify-uri, as another team would write it. */
export function startVerifyService(): VerifyService {
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const url = new URL(request.url);
      const body = request.method === "POST" ? await request.text() : "";
      service.requests.push({ method: request.method, url, body });
      const code = body === "" ? (url.searchParams.get("code") ?? "") : String(JSON.parse(body).code);
      return service.answer(code, request);
    },
  });
  const service: VerifyService = {
    url: `${server.url.origin}/verify`,
    requests: [],
    answer: (code) =>
      code.startsWith("bad")
        ? Response.json({ code: 40102, successful: false, message: "no such code" })
        : Response.json({ code: 0, successful: true, msg: null, data: code, encrypt: false }),
    stop: () => server.stop(true),
  };
  return service;
}
