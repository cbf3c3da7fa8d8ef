import { newReason, type Reason } from "../../reason/reason.ts";

/** Settings of a project that people look for in the file: which runners, what is kept secret, who is asked and told. */
const projectSettingNames = new Set([
  ...["name", "groupId", "git", "env", "notify", "defaultNotify", "commitStatus", "labels", "supersede"],
  ...["rollback", "rollbackWithin", "image", "isolation", "cache", "limits", "publicUrl", "allowedDomains"],
  ...[
    "diskMb",
    "secrets",
    "approval",
    "approvals",
    "credential",
    "webhook",
    "runner",
    "from",
    "path",
    "pipelineFile",
    "environments",
  ],
]);

/** Why a field cannot be in the file, though a project has it; null: no project has it there either. */
export function settingFault(path: readonly PropertyKey[]): Reason | null {
  const name = String(path.at(-1));
  const isInRun = path.length === 3;
  if (isInRun && (name === "host" || name === "switchOnHost")) return newReason("file_host");
  if (isInRun && name === "network") return newReason("file_network");
  return projectSettingNames.has(name) ? newReason("file_setting") : null;
}
