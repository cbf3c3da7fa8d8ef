import { Checkbox, NumberInput, Select, TagsInput } from "@mantine/core";
import type { Project } from "../../shapes.ts";
import { t } from "../../text/text.ts";

/** Which deploys wait until a manager approves them. */
export function ApprovalFields({
  value,
  onChange,
}: {
  value: Project["deploy"];
  onChange: (rule: Project["deploy"]) => void;
}) {
  return (
    <>
      <Select
        label={t("stages.approval")}
        description={t("stages.approvalHint")}
        data={[
          { value: "none", label: t("stages.approvalNone") },
          { value: "required", label: t("stages.approvalRequired") },
        ]}
        allowDeselect={false}
        value={value.approval}
        onChange={(approval) =>
          onChange({ ...value, approval: approval === "required" ? "required" : "none" })
        }
      />
      {value.approval === "required" && <RequiredFields value={value} onChange={onChange} />}
    </>
  );
}

/** What is said of approvals that are required. */
export function RequiredFields({
  value,
  onChange,
}: {
  value: Project["deploy"];
  onChange: (rule: Project["deploy"]) => void;
}) {
  return (
    <>
      <TagsInput
        label={t("stages.approvalBranches")}
        description={t("stages.approvalBranchesHint")}
        value={value.branches}
        onChange={(branches) => onChange({ ...value, branches })}
      />
      <Checkbox
        label={t("stages.approvalNotByPusher")}
        checked={value.notByPusher}
        onChange={(event) => onChange({ ...value, notByPusher: event.currentTarget.checked })}
      />
      <NumberInput
        label={t("stages.approvalExpiry")}
        description={t("stages.approvalExpiryHint")}
        min={1}
        max={525_600}
        allowDecimal={false}
        value={value.expiresAfterMinutes}
        onChange={(minutes) =>
          onChange({ ...value, expiresAfterMinutes: Number(minutes) || value.expiresAfterMinutes })
        }
      />
    </>
  );
}
