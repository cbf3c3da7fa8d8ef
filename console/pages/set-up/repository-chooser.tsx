import { Select } from "@mantine/core";
import { useQueries, useQuery } from "@tanstack/react-query";
import { answerOf, api } from "../../api.ts";
import { t } from "../../text/text.ts";
import { visible } from "../../visible.ts";

/** The repositories that the user's stored tokens may manage. Nothing for users without a token. */
export function RepositoryChooser({ onChosen }: { onChosen: (cloneUrl: string) => void }) {
  const tokens = useQuery({
    queryKey: ["host-tokens"],
    queryFn: () => answerOf(api["host-tokens"].$get()),
  });
  const stored = tokens.data?.items ?? [];
  const lists = useQueries({
    queries: stored.map(({ id }) => ({
      queryKey: ["host-tokens", id, "repositories"],
      queryFn: () => answerOf(api["host-tokens"][":id"].repositories.$get({ param: { id }, query: {} })),
      staleTime: 60_000,
      retry: false,
    })),
  });
  if (stored.length === 0) return null;
  const failed = stored.filter((_, index) => lists[index]?.isError).map(({ origin }) => origin);
  const choices = stored.map(({ origin }, index) => ({
    group: origin,
    items: (lists[index]?.data?.items ?? []).map(({ path, httpsUrl }) => ({
      value: httpsUrl,
      label: visible(path),
    })),
  }));
  return (
    <Select
      label={t("setUp.choose")}
      description={t("setUp.chooseHint")}
      placeholder={t("setUp.choosePlaceholder")}
      nothingFoundMessage={t("setUp.chooseNothing")}
      error={failed.length === 0 ? undefined : t("setUp.notListed", { origins: failed.join(", ") })}
      data={choices}
      searchable
      limit={200}
      value={null}
      onChange={(url) => url !== null && onChosen(url)}
    />
  );
}
