import type { Ground, Part } from "./part.ts";

/** The deploy service: store, webhook, tasks, management API and console. */
export async function buildDeployPart(_ground: Ground): Promise<Part> {
  return { routes: {}, missing: async () => null, facts: [], warnings: [], close: async () => {} };
}
