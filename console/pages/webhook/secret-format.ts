import type { Webhook } from "../../shapes.ts";

/** Standard Webhooks requires keys of the form `whsec_…`; such a text works as a token too. */
export function formatFor({
  provider,
  verifyMode,
}: Pick<Webhook, "provider" | "verifyMode">): "whsec" | "base64url" {
  const isStandard = provider === "gitlab" || (provider === "generic" && verifyMode === "standard");
  return isStandard ? "whsec" : "base64url";
}
