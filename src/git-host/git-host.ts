import type { HostApi } from "./api/host-api.ts";
import type { EventKind, PayloadParser } from "./delivery/payloads.ts";
import type { HostPages } from "./pages.ts";
import type { ConfiguredProof, Proof } from "./proof/proof.ts";
import type { StatusApi } from "./status/status-api.ts";

/** What is known about a kind of Git host. An absent part: the host has no such thing, or it is not known. */
export interface GitHost {
  title: string;
  /** Hostnames of its public services. */
  servers?: readonly string[];
  /** Words in the hostname of another server that tell the host. */
  serverWords?: readonly string[];
  /** The first header that was sent counts. Empty list: the body names the event. */
  eventHeaders: readonly string[];
  /** By event name in lower case. Other events never start a build. */
  events: Readonly<Record<string, EventKind>>;
  deliveryIdHeaders: readonly string[];
  /** A function: the project configures it. */
  proof: Proof | ((config: ConfiguredProof) => Proof);
  /** If its payloads are not read by their shape. */
  parse?: PayloadParser;
  pages?: HostPages;
  /** Where its API expects a token. */
  token?: TokenPlace;
  /** The first that fits a repository counts. */
  statuses?: readonly StatusApi[];
  /** By which webhooks and deploy keys are created. */
  api?: HostApi;
}

export interface TokenPlace {
  headersOf(token: string): Record<string, string>;
  /** Name of the parameter that carries it: in the address of a GET, otherwise in the body. */
  parameter?: string;
}

export function proofOf({ proof }: GitHost, config: ConfiguredProof): Proof {
  return typeof proof === "function" ? proof(config) : proof;
}
