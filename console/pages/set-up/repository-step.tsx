import { Alert, Button, Loader, PasswordInput, Text, Textarea, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { InferResponseType } from "hono/client";
import { type ReactNode, useEffect } from "react";
import { answerOf, api } from "../../api.ts";
import { Panel, Problem } from "../../components/page.tsx";
import type { TextProps } from "../../draft.ts";
import { t } from "../../text/text.ts";
import { hosts } from "../webhook/hosts.ts";
import { RepositoryChooser } from "./repository-chooser.tsx";

export type Inspected = InferResponseType<typeof api.repositories.inspect.$post, 200>;
export type Preset = Inspected["presets"][number];

/** What the user typed to read a private repository. */
export interface CredentialFields {
  username: string;
  token: string;
  privateKey: string;
}

export const noCredential: CredentialFields = { username: "git", token: "", privateKey: "" };

const typingMs = 500;
const looksWhole = /^(?:(?:https?|ssh|git|file):\/\/.+\/.+|[\w.-]+@[\w.-]+:.+|\/.+)/i;
const examples = {
  url: "https://git.example.com/shop.git",
  key: "-----BEGIN OPENSSH PRIVATE KEY-----",
};

export function isSshUrl(url: string): boolean {
  return /^ssh:|^[\w.-]+@[\w.-]+:/i.test(url);
}

/** The credential as the API takes it; undefined: none was typed. */
export function credentialOf(url: string, { username, token, privateKey }: CredentialFields) {
  if (isSshUrl(url)) return privateKey === "" ? undefined : { type: "ssh" as const, privateKey };
  return token === "" ? undefined : { type: "token" as const, username, token };
}

/** Clone URL and credential, checked against the repository while the user types. */
export function RepositoryStep({
  urlField,
  onUrl,
  fields,
  credential,
  onCredential,
  onInspected,
}: {
  urlField: TextProps;
  onUrl: (url: string) => void;
  /** What the user typed. */
  fields: CredentialFields;
  /** What is checked: changes when the user asks for it. */
  credential: CredentialFields;
  onCredential: (typed: CredentialFields, isChecked: boolean) => void;
  onInspected: (found: Inspected) => void;
}) {
  const [url] = useDebouncedValue(urlField.value.trim(), typingMs);
  const inspection = useQuery({
    queryKey: ["inspection", url, credential],
    queryFn: () => {
      const given = credentialOf(url, credential);
      return answerOf(
        api.repositories.inspect.$post({ json: { url, ...(given ? { credential: given } : {}) } }),
      );
    },
    enabled: looksWhole.test(url),
    placeholderData: keepPreviousData,
    staleTime: 60_000,
    retry: false,
  });
  const isCurrent = !inspection.isPlaceholderData && looksWhole.test(url);
  const found = isCurrent ? inspection.data : undefined;
  useEffect(() => {
    if (found) onInspected(found);
  }, [found, onInspected]);
  return (
    <Panel title={t("setUp.repository")}>
      <div className="form">
        <RepositoryChooser onChosen={onUrl} />
        <TextInput
          label={t("setUp.cloneUrl")}
          description={t("setUp.cloneUrlHint")}
          placeholder={examples.url}
          required
          data-autofocus
          autoFocus
          autoComplete="off"
          spellCheck={false}
          classNames={{ input: "mono" }}
          {...urlField}
        />
        <div aria-live="polite">
          <State
            isChecking={inspection.isFetching}
            found={found}
            error={isCurrent ? inspection.error : null}
          />
        </div>
        {found?.needsCredential && (
          <Credential
            isSsh={isSshUrl(url)}
            fields={fields}
            isChecking={inspection.isFetching}
            onChange={(typed) => onCredential(typed, false)}
            onCheck={() => onCredential(fields, true)}
          />
        )}
      </div>
    </Panel>
  );
}

function State({
  isChecking,
  found,
  error,
}: {
  isChecking: boolean;
  found: Inspected | undefined;
  error: Error | null;
}): ReactNode {
  if (isChecking)
    return (
      <Text size="sm" c="dimmed">
        <Loader size={14} mr={8} />
        {t("setUp.checking")}
      </Text>
    );
  if (error !== null) return <Problem title={t("setUp.notRead")} problem={error} />;
  if (found === undefined) return null;
  if (found.problem !== "") return <Problem title={t("setUp.notRead")} problem={found.problem} />;
  if (found.defaultBranch === null)
    return (
      <Alert color="lamp" variant="light" role="note">
        {t("setUp.empty")}
      </Alert>
    );
  const host = found.provider === null ? t("setUp.unknownHost") : hosts()[found.provider].name;
  return (
    <Alert color="teal" variant="light" role="note" className="found-repository">
      {t("setUp.found", { host, count: found.branches.length })}
    </Alert>
  );
}

function Credential({
  isSsh,
  fields,
  isChecking,
  onChange,
  onCheck,
}: {
  isSsh: boolean;
  fields: CredentialFields;
  isChecking: boolean;
  onChange: (fields: CredentialFields) => void;
  onCheck: () => void;
}) {
  return (
    <fieldset className="plain form">
      <Text size="sm" mb={4}>
        {t("setUp.credential")}
      </Text>
      {isSsh ? (
        <Textarea
          className="script"
          label={t("setUp.privateKey")}
          description={t("setUp.privateKeyHint")}
          placeholder={examples.key}
          rows={5}
          value={fields.privateKey}
          onChange={(event) => onChange({ ...fields, privateKey: event.currentTarget.value })}
        />
      ) : (
        <>
          <TextInput
            label={t("setUp.username")}
            autoComplete="off"
            value={fields.username}
            onChange={(event) => onChange({ ...fields, username: event.currentTarget.value })}
          />
          <PasswordInput
            label={t("setUp.token")}
            description={t("setUp.tokenHint")}
            autoComplete="off"
            value={fields.token}
            onChange={(event) => onChange({ ...fields, token: event.currentTarget.value })}
          />
        </>
      )}
      <div>
        <Button variant="default" loading={isChecking} onClick={onCheck}>
          {t("setUp.checkAgain")}
        </Button>
      </div>
    </fieldset>
  );
}
