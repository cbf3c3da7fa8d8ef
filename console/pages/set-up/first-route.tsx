import { Text, TextInput } from "@mantine/core";
import { reasonIn } from "../../text/reason-text.ts";
import { t } from "../../text/text.ts";
import type { Inspected } from "./repository-step.tsx";

const example = "shop.example.com";

/** A domain for the first service, if a runner has a proxy; otherwise how it gets one. */
export function FirstRoute({
  proxy: { name, note, noteParts },
  value,
  error,
  onChange,
}: {
  proxy: Inspected["proxy"];
  value: string;
  error: string | undefined;
  onChange: (domain: string) => void;
}) {
  if (name !== null)
    return (
      <TextInput
        maw={420}
        label={t("setUp.domain")}
        description={t("setUp.domainHint", { proxy: name })}
        placeholder={example}
        value={value}
        error={error}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
    );
  if (note === "") return null;
  return (
    <details className="by-hand">
      <summary>{t("setUp.domain")}</summary>
      <Text size="sm" c="dimmed">
        {t("setUp.noDomain", { why: reasonIn(note, noteParts) })}
      </Text>
    </details>
  );
}
