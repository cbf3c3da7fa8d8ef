import { Checkbox, TagsInput } from "@mantine/core";
import { t } from "../text/text.ts";

const example = "*.example.com";

/** Domains that the routes of a project, or of the projects of a group, may have. Null: nobody has said which. */
export function AllowedDomains({
  domains,
  about,
  errorOf,
  onChange,
}: {
  domains: string[] | null;
  about: string;
  errorOf: (field: string) => string | undefined;
  onChange: (domains: string[] | null) => void;
}) {
  const names = domains ?? [];
  const error = ["allowedDomains", ...names.map((_, place) => `allowedDomains.${place}`)]
    .map(errorOf)
    .find(Boolean);
  return (
    <>
      <Checkbox
        label={t("routes.limitDomains")}
        description={about}
        checked={domains !== null}
        error={domains === null ? error : undefined}
        onChange={(event) => onChange(event.currentTarget.checked ? [] : null)}
      />
      {domains !== null && (
        <TagsInput
          label={t("routes.allowedDomains")}
          description={t("routes.allowedDomainsHint")}
          placeholder={names.length === 0 ? example : ""}
          splitChars={[",", " "]}
          value={names}
          error={error}
          onChange={(chosen) => onChange(chosen.map((name) => name.trim().toLowerCase()))}
        />
      )}
    </>
  );
}
