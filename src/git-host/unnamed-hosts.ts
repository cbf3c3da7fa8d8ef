import { githubEvents, gitlabEvents } from "./delivery/event-names.ts";
import type { GitHost } from "./git-host.ts";
import { hmacProof, tokenProof } from "./proof/proof.ts";

/** The hosts of the specification, which gives them no names. */

export const hosta = {
  title: "Host A",
  eventHeaders: ["X-HostA-Event"],
  events: githubEvents,
  deliveryIdHeaders: ["X-HostA-Delivery"],
  proof: hmacProof(["X-Hub-Signature-256"], { prefix: "sha256=" }),
} satisfies GitHost;

export const hostb = {
  title: "Host B",
  eventHeaders: ["X-HostB-Event"],
  events: gitlabEvents,
  deliveryIdHeaders: ["Idempotency-Key"],
  proof: tokenProof("X-HostB-Token"),
} satisfies GitHost;

export const hostc = {
  ...hostb,
  title: "Host C",
  eventHeaders: ["X-HostC-Event"],
  deliveryIdHeaders: [],
  proof: tokenProof("X-HostC-Token"),
} satisfies GitHost;

export const hostd = {
  ...hostc,
  title: "Host D",
  eventHeaders: ["HostD-Event", "X-HostD-Event"],
  proof: tokenProof("X-HostD-Token"),
} satisfies GitHost;
