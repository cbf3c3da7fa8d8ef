import { Autocomplete } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { answerOf, api } from "../api.ts";
import { t } from "../text/text.ts";

const typingMs = 150;

/**
 * A field for the name of a user. The server suggests names to admins; others type the whole name, because only admins may
 * list users.
 */
export function UserPicker({
  value,
  error,
  onChange,
}: {
  value: string;
  error: string | undefined;
  onChange: (username: string) => void;
}) {
  const [wanted] = useDebouncedValue(value.trim(), typingMs);
  const found = useQuery({
    queryKey: ["search", wanted],
    queryFn: () => answerOf(api.search.$get({ query: { q: wanted } })),
    enabled: wanted !== "",
    placeholderData: keepPreviousData,
  });
  const names = wanted === "" ? [] : (found.data?.users ?? []).map(({ username }) => username);
  return (
    <Autocomplete
      label={t("members.user")}
      placeholder={t("members.username")}
      required
      spellCheck={false}
      data={names}
      // The server has searched already.
      filter={({ options }) => options}
      value={value}
      error={error}
      onChange={onChange}
    />
  );
}
