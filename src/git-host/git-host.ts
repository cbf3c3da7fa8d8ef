import type { EventKind, PayloadParser } from "./delivery/payloads.ts";
import type { ConfiguredProof, Proof } from "./proof/proof.ts";

/** What is known about a kind of Git host. An absent part: the host has no such thing, or it is not known. */
export interface GitHost {
  title: string;
  /** The first header that was sent counts. Empty list: the body names the event. */
  eventHeaders: readonly string[];
  /** By event name in lower case. Other events never start a build. */
  events: Readonly<Record<string, EventKind>>;
  deliveryIdHeaders: readonly string[];
  /** A function: the project configures it. */
  proof: Proof | ((config: ConfiguredProof) => Proof);
  /** If its payloads are not read by their shape. */
  parse?: PayloadParser;
}

export function proofOf({ proof }: GitHost, config: ConfiguredProof): Proof {
  return typeof proof === "function" ? proof(config) : proof;
}
