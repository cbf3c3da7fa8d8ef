import type { Project } from "../shapes.ts";
import { t } from "../text/text.ts";
import { visible } from "../visible.ts";

/** In the question before a deploy: it may have to wait for an approval. */
export function ApprovalHint({ project: { deploy } }: { project: Project }) {
  if (deploy.approval === "none") return null;
  const refs = deploy.branches.join(t("words.listSeparator"));
  return <p>{refs === "" ? t("approval.hint") : t("approval.hintOf", { refs: visible(refs) })}</p>;
}
