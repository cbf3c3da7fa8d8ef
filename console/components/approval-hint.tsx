import { requiresApproval } from "../../src/model/approval/deploy-rule.ts";
import type { Project } from "../shapes.ts";
import { t } from "../text/text.ts";

/** In the question before a deploy: it waits for an approval after its build. */
export function ApprovalHint({ project: { deploy }, ref }: { project: Project; ref: string }) {
  if (!requiresApproval(deploy, { ref, source: null })) return null;
  return <p>{t("approval.hint")}</p>;
}
