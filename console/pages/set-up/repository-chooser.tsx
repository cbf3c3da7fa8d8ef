import { Group, Loader, Select, Text } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useQueries, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { answerOf, api, messageOf } from "../../api.ts";
import { hostTokensQuery } from "../../host-token-query.ts";
import { t } from "../../text/text.ts";
import { visible } from "../../visible.ts";
import { ConnectHost } from "./connect-host.tsx";

/** A repository that the user chose from those of a stored token. */
export interface ChosenRepository {
  tokenId: number;
  /** The clone URL of the project. */
  url: string;
  /** The address at which the token can read it. */
  httpsUrl: string;
}

const typingMs = 300;

/** The repositories that the user's stored tokens may manage, searched at the Git hosts. */
export function RepositoryChooser({ onChosen }: { onChosen: (chosen: ChosenRepository) => void }) {
  const tokens = useQuery(hostTokensQuery);
  const [typed, setTyped] = useState("");
  const [search] = useDebouncedValue(typed.trim(), typingMs);
  const stored = tokens.data?.items ?? [];
  const lists = useQueries({
    queries: stored.map(({ id }) => ({
      queryKey: ["host-tokens", id, "repositories", search],
      queryFn: () =>
        answerOf(api["host-tokens"][":id"].repositories.$get({ param: { id }, query: { search } })),
      placeholderData: keepPreviousData,
      staleTime: 60_000,
      retry: false,
    })),
  });
  if (tokens.data === undefined) return null;
  if (stored.length === 0)
    return (
      <Group gap="md" className="connect-host">
        <ConnectHost button={{ variant: "default" }} />
        <Text size="sm" c="dimmed">
          {t("setUp.connectHostHint")}
        </Text>
      </Group>
    );
  const { canCreateWebhooks } = tokens.data;
  const repositories = stored.flatMap(({ id, origin }, index) =>
    (lists[index]?.data?.items ?? []).map((found) => ({ ...found, tokenId: id, origin })),
  );
  const choose = (value: string | null) => {
    const chosen = repositories.find((found) => choiceOf(found) === value);
    if (chosen === undefined) return;
    const { tokenId, path, httpsUrl, sshUrl, isPrivate } = chosen;
    setTyped(path);
    // A private repository is cloned with a deploy key, which is created together with the webhook.
    const isBySsh = isPrivate && sshUrl !== "" && canCreateWebhooks;
    onChosen({ tokenId, httpsUrl, url: isBySsh ? sshUrl : httpsUrl });
  };
  const problems = stored.flatMap(({ origin }, index) => {
    const error = lists[index]?.error;
    return error ? [`${t("setUp.notListed", { origins: origin })}: ${messageOf(error)}`] : [];
  });
  const isCut = lists.some(({ data }) => data?.isCut);
  const isLoading = lists.some(({ isFetching }) => isFetching);
  return (
    <div>
      <Select
        label={t("setUp.choose")}
        description={isCut ? t("setUp.chooseCut") : t("setUp.chooseHint")}
        placeholder={t("setUp.choosePlaceholder")}
        nothingFoundMessage={isLoading ? t("setUp.chooseLoading") : t("setUp.chooseNothing")}
        error={problems.length === 0 ? undefined : visible(problems.join(" "))}
        rightSection={isLoading ? <Loader size={16} /> : undefined}
        data={stored.map(({ id, origin, login }) => ({
          group: visible(login === "" ? origin : `${origin} (${login})`),
          items: repositories
            .filter(({ tokenId }) => tokenId === id)
            .map((found) => ({ value: choiceOf(found), label: visible(found.path) })),
        }))}
        searchable
        // The Git host has searched already, also in names that are not shown.
        filter={({ options }) => options}
        searchValue={typed}
        onSearchChange={setTyped}
        value={null}
        onChange={choose}
      />
      <Group mt={6}>
        <ConnectHost button={{ variant: "subtle", size: "compact-sm" }} />
      </Group>
    </div>
  );
}

function choiceOf({ tokenId, httpsUrl }: { tokenId: number; httpsUrl: string }): string {
  return `${tokenId} ${httpsUrl}`;
}
