import { Anchor, PasswordInput, type PasswordInputProps, Text } from "@mantine/core";
import type { HostKind } from "../../../src/git-host/hosts.ts";
import { t } from "../../text/text.ts";

/** The field for a token of a Git host: the rights that it needs, and the host's page where it is created. */
export function HostTokenField({
  kind,
  page,
  field,
}: {
  kind: HostKind;
  /** Null: unknown. */
  page: string | null;
  field: PasswordInputProps;
}) {
  return (
    <div>
      <PasswordInput
        label={t("hostHook.token")}
        description={t(`hostHook.scope_${kind}`)}
        required
        autoComplete="off"
        data-autofocus
        {...field}
      />
      <Text size="sm" c="dimmed" mt={6}>
        {t("hostHook.tokenHint")}{" "}
        {page !== null && (
          <Anchor href={page} target="_blank" rel="noreferrer">
            {t("hostHook.tokenPage")}
          </Anchor>
        )}
      </Text>
    </div>
  );
}
