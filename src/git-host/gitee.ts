import { isSameSecret } from "../secrets.ts";
import { gitlabEvents } from "./delivery/event-names.ts";
import { firstHeader } from "./delivery/headers.ts";
import type { GitHost } from "./git-host.ts";
import { hmacOf, type Proof, type SignedRequest, tokenProof } from "./proof/proof.ts";

/** As Gitee specifies. */
const toleranceMs = 3_600_000;

const timestampOf = ({ headers }: SignedRequest) => firstHeader(headers, ["X-Gitee-Timestamp"]);

/** Password mode sends the secret; sign mode sends base64(HMAC(secret, timestamp LF secret)), valid for an hour. */
const passwordOrSignature: Proof = {
  ...tokenProof("X-Gitee-Token"),
  sentAtMs: (request) => Number(timestampOf(request)),
  isSignedBy(secret, given, request, nowMs) {
    if (isSameSecret(given, secret)) return true;
    const timestamp = timestampOf(request);
    const sentAtMs = /^\d{10,16}$/.test(timestamp) ? Number(timestamp) : Number.NaN;
    const expected = hmacOf(secret, Buffer.from(`${timestamp}\n${secret}`)).toString("base64");
    const isSigned = isSameSecret(given, expected) || isSameSecret(given, encodeURIComponent(expected));
    return isSigned && Math.abs(nowMs - sentAtMs) <= toleranceMs;
  },
};

export const gitee = {
  title: "Gitee",
  eventHeaders: ["X-Gitee-Event"],
  events: gitlabEvents,
  deliveryIdHeaders: [],
  proof: passwordOrSignature,
} satisfies GitHost;
