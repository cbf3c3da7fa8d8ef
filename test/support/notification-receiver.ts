import { eventually } from "./eventually.ts";

export interface Received {
  headers: Headers;
  body: string;
  json: { type: string; data: { task: { id: number; state: string; triggerType: string; reason: string } } };
}

/** A server that records outgoing webhooks. */
export function receiveNotifications(answer: (received: Received[]) => number = () => 200) {
  const received: Received[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const body = await request.text();
      received.push({ headers: request.headers, body, json: JSON.parse(body) as Received["json"] });
      return new Response(null, { status: answer(received) });
    },
  });
  return {
    url: server.url.href,
    received,
    /** Event names of one task, in the order of their arrival. */
    eventsOf: (taskId: number) =>
      received.filter(({ json }) => json.data.task.id === taskId).map(({ json }) => json.type),
    async event(taskId: number, type: string): Promise<Received> {
      const find = () => received.find(({ json }) => json.data.task.id === taskId && json.type === type);
      await eventually(`${type} of task ${taskId} arrives`, () => find() !== undefined);
      return find() as Received;
    },
    stop: () => server.stop(true),
  };
}
