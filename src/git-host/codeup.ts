import { gitlabEvents } from "./delivery/event-names.ts";
import type { GitHost } from "./git-host.ts";
import { tokenProof } from "./proof/proof.ts";

export const codeup = {
  title: "Codeup",
  eventHeaders: ["Codeup-Event", "X-Codeup-Event"],
  events: gitlabEvents,
  deliveryIdHeaders: [],
  proof: tokenProof("X-Codeup-Token"),
} satisfies GitHost;
