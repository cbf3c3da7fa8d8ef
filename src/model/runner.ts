import type { Page, PageRequest } from "./page.ts";

/** A registered execution side. */
export interface Runner {
  id: number;
  name: string;
  labels: string[];
  tokenHash: string;
  /** Started by the server itself. */
  local: boolean;
  disabled: boolean;
  version: string;
  concurrency: number;
  lastSeenAt: Date | null;
  createdAt: Date;
}

export interface RunnerKeeper {
  create(runner: Omit<Runner, "id" | "lastSeenAt" | "version">): Promise<Runner>;
  byId(id: number): Promise<Runner | null>;
  /** Reads it as it is now: until the transaction ends nobody else changes it. */
  hold(id: number): Promise<Runner | null>;
  byTokenHash(tokenHash: string): Promise<Runner | null>;
  localOne(): Promise<Runner | null>;
  list(page: PageRequest): Promise<Page<Runner>>;
  update(
    id: number,
    change: Partial<
      Pick<Runner, "name" | "labels" | "disabled" | "version" | "concurrency" | "lastSeenAt" | "tokenHash">
    >,
  ): Promise<Runner | null>;
  delete(id: number): Promise<boolean>;
}
