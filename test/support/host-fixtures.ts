import { resolve } from "node:path";
import type { NormalizedEvent } from "../../src/git-host/delivery/event.ts";
import { gitHosts, type ProviderName, providerNames } from "../../src/git-host/hosts.ts";
import type { JsonObject } from "../../src/json.ts";

/** A delivery as the host sends it, and the event that it means. */
export interface PayloadSample {
  title: string;
  provider: ProviderName;
  headers: Record<string, string>;
  payload: JsonObject;
  expected: Omit<NormalizedEvent, "rawEvent">;
}

interface ProofSample {
  title?: string;
  headers: Record<string, string>;
  /** `{}` unless given. */
  body?: string;
  /** The JSON inside a form body. */
  form?: string;
  /** When it arrives. */
  atMs?: number;
}

interface ProofFixture {
  secret: string;
  accepted: ProofSample[];
  refused: ProofSample[];
  /** What a host without a secret sends, and the header that shows it. */
  withoutSecret: { headers: Record<string, string>; header: string };
}

const folder = resolve(import.meta.dir, "../fixtures/git-hosts");

async function read<T>(provider: ProviderName, file: string, absent?: T): Promise<T> {
  const found = Bun.file(`${folder}/${provider}/${file}.json`);
  if (absent !== undefined && !(await found.exists())) return absent;
  return found.json();
}

/** The proofs of every host. A host without them is an error. */
export const proofFixtures = await Promise.all(
  providerNames.map(async (provider) => ({ provider, ...(await read<ProofFixture>(provider, "proof")) })),
);

/** Pages of a repository: of a task of `refs/heads/feature/basket #1` and one of `refs/tags/v1`. */
interface LinkFixture {
  cloneUrl: string;
  commit: string;
  branch: string;
  tag: string;
  mergeRequest: string;
  compare: string | null;
}

/** The pages of every host that has some. */
export const linkFixtures = await Promise.all(
  providerNames
    .filter((provider) => "pages" in gitHosts[provider])
    .map(async (provider) => ({ provider, ...(await read<LinkFixture>(provider, "links")) })),
);

/** The payloads of all hosts. */
export const payloadSamples: PayloadSample[] = (
  await Promise.all(
    providerNames.map(async (provider) =>
      (await read<PayloadSample[]>(provider, "payloads", [])).map((sample) => ({ ...sample, provider })),
    ),
  )
).flat();
