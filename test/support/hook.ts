import { createHmac } from "node:crypto";
import type { ApiClient, ApiServer } from "./api-server.ts";

/** A project with its webhook, and a way to deliver to it. */
export interface TestHook {
  projectId: number;
  /** The current key of the endpoint. */
  url(): Promise<string>;
  save(change: object): Promise<void>;
  deliver(delivery: TestDelivery): Promise<DeliveredAnswer>;
}

export interface TestDelivery {
  payload?: unknown;
  /** Raw bytes instead of a payload. */
  body?: string | Uint8Array;
  headers?: Record<string, string>;
  query?: Record<string, string>;
}

export interface DeliveredAnswer {
  status: number;
  headers: Headers;
  body: Record<string, unknown>;
}

export async function makeHook(
  server: Pick<ApiServer, "admin">,
  config: object,
  project: object = {},
): Promise<TestHook> {
  const { id } = await server.admin.expect<{ id: number }>(201, "POST", "/api/projects", {
    name: `hook ${crypto.randomUUID()}`,
    git: { url: "https://git.example.com/shop.git", ref: "main" },
    stages: { build: { script: "true" } },
    ...project,
  });
  const path = `/api/projects/${id}/webhook`;
  const url = async () => String((await server.admin.expect<{ url: string }>(200, "GET", path)).url);
  const save = async (change: object) => {
    await server.admin.expect(200, "PUT", path, change);
  };
  await save({ enabled: true, ...config });
  return { projectId: id, url, save, deliver: async (delivery) => deliverTo(await url(), delivery) };
}

export async function deliverTo(url: string, delivery: TestDelivery): Promise<DeliveredAnswer> {
  const target = new URL(url);
  for (const [name, value] of Object.entries(delivery.query ?? {})) target.searchParams.set(name, value);
  const response = await fetch(target, {
    method: "POST",
    headers: { "content-type": "application/json", ...delivery.headers },
    body: (delivery.body ?? JSON.stringify(delivery.payload ?? {})) as BodyInit,
  });
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Record<string, unknown>,
  };
}

export function hmac(secret: string, body: string | Uint8Array, encoding: "hex" | "base64" = "hex"): string {
  return createHmac("sha256", secret).update(body).digest(encoding);
}

/** Newest first, of one project. */
export async function deliveriesOf(admin: ApiClient, projectId: number): Promise<Record<string, unknown>[]> {
  const path = `/api/webhooks/deliveries?projectId=${projectId}&pageSize=200`;
  return (await admin.expect<{ items: Record<string, unknown>[] }>(200, "GET", path)).items;
}

export function deliveryOf(admin: ApiClient, id: unknown): Promise<Record<string, unknown>> {
  return admin.expect(200, "GET", `/api/webhooks/deliveries/${id}`);
}

export async function tasksOf(admin: ApiClient, projectId: number): Promise<Record<string, unknown>[]> {
  const path = `/api/tasks?projectId=${projectId}&pageSize=200`;
  return (await admin.expect<{ items: Record<string, unknown>[] }>(200, "GET", path)).items;
}

/** A full commit id made of one repeated digit. */
export function sha(name: string): string {
  return createHmac("sha1", "commit").update(name).digest("hex");
}
