import { type LoadGenerator, startGenerator } from "./load-process.ts";

/** A command for the load generator of deliveries. */
export interface DeliveryOrder {
  url: string;
  targets: { path: string; secret: string }[];
  requests: number;
  /** Number of the first request, so that no two rounds send the same. */
  from: number;
  atOnce: number;
  /** 0: as fast as they are answered. */
  perSecond: number;
  expectedStatus: number;
}

export interface DeliveryResult {
  answered: number;
  failed: number;
  seconds: number;
  latenciesMs: number[];
  statuses: Record<number, number>;
  error?: string;
}

export type DeliveryLoad = LoadGenerator<DeliveryOrder, DeliveryResult>;

export function startDeliveryLoad(): DeliveryLoad {
  const generator: DeliveryLoad = startGenerator("load/delivery-worker.ts");
  return {
    ...generator,
    async run(order) {
      const result = await generator.run(order);
      if (result.failed > 0) throw new Error(`unexpected responses: ${JSON.stringify(result.statuses)}`);
      return result;
    },
  };
}
