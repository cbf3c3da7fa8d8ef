import {
  Alert,
  Anchor,
  Button,
  Checkbox,
  Loader,
  PasswordInput,
  Text,
  Textarea,
  TextInput,
} from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { InferResponseType } from "hono/client";
import { type ReactNode, useEffect, useState } from "react";
import { ApiProblem, answerOf, api } from "../../api.ts";
import { Panel, Problem } from "../../components/page.tsx";
import type { TextProps } from "../../draft.ts";
import { hostName, isHostKind } from "../../git-hosts.ts";
import { reasonIn } from "../../text/reason-text.ts";
import { t } from "../../text/text.ts";
import { isSshUrl, originOf, tokenPageOf } from "./host-pages.ts";
import { type ChosenRepository, RepositoryChooser } from "./repository-chooser.tsx";

export type Inspected = InferResponseType<typeof api.repositories.inspect.$post, 200>;
export type Preset = Inspected["presets"][number];

/** What the user typed to read a private repository. */
export interface CredentialFields {
  username: string;
  token: string;
  privateKey: string;
  /** Whether the token also creates the webhook. */
  createsWebhook: boolean;
}

export const noCredential: CredentialFields = {
  username: "git",
  token: "",
  privateKey: "",
  createsWebhook: false,
};

const typingMs = 500;
const looksWhole = /^(?:(?:https?|ssh|git|file):\/\/.+\/.+|[\w.-]+@[\w.-]+:.+|\/.+)/i;
/** With more text it may become an address: its scheme or host is not complete. */
const mayContinue = /^(?:h(?:t(?:t(?:ps?)?)?)?|s(?:sh?)?|g(?:it?)?|f(?:i(?:le?)?)?|[\w.-]+@[\w.-]*|\w+:.*)$/i;
const examples = {
  url: "https://git.example.com/shop.git",
  key: "-----BEGIN OPENSSH PRIVATE KEY-----",
};

/** The credential as the API takes it; undefined: none was typed. */
export function credentialOf(url: string, { username, token, privateKey }: CredentialFields) {
  if (isSshUrl(url)) return privateKey === "" ? undefined : { type: "ssh" as const, privateKey };
  return token === "" ? undefined : { type: "token" as const, username, token };
}

/** Clone URL and credential, checked against the repository while the user types. */
export function RepositoryStep({
  urlField,
  chosen,
  onChosen,
  fields,
  credential,
  onCredential,
  onInspected,
  onSkipped,
}: {
  urlField: TextProps;
  /** Null: the user typed the clone URL. */
  chosen: ChosenRepository | null;
  onChosen: (chosen: ChosenRepository) => void;
  /** What the user typed. */
  fields: CredentialFields;
  /** What is checked: changes when the user asks for it. */
  credential: CredentialFields;
  onCredential: (typed: CredentialFields, isChecked: boolean) => void;
  onInspected: (found: Inspected) => void;
  /** The user goes on although the repository could not be read. */
  onSkipped: () => void;
}) {
  const [url] = useDebouncedValue(urlField.value.trim(), typingMs);
  /** The start of an address is looked at when the user leaves the field. */
  const [left, setLeft] = useState("");
  const isAsked = looksWhole.test(url) || (url !== "" && (url === left || !mayContinue.test(url)));
  const own = credentialOf(url, credential);
  const byToken =
    chosen?.url === url && own === undefined ? { url: chosen.httpsUrl, hostTokenId: chosen.tokenId } : null;
  const inspection = useQuery({
    queryKey: ["inspection", url, credential, byToken],
    queryFn: () => {
      const json = byToken ?? { url, ...(own ? { credential: own } : {}) };
      return answerOf(api.repositories.inspect.$post({ json }));
    },
    enabled: isAsked,
    placeholderData: keepPreviousData,
    staleTime: 60_000,
    retry: false,
  });
  const isCurrent = !inspection.isPlaceholderData && isAsked;
  const found = isCurrent ? inspection.data : undefined;
  useEffect(() => {
    if (found) onInspected(found);
  }, [found, onInspected]);
  const given = JSON.stringify(own);
  // Stays in place while a credential is checked.
  const latest = isAsked ? inspection.data : undefined;
  const error = isCurrent ? inspection.error : null;
  const urlError =
    urlField.error ??
    (error instanceof ApiProblem && !inspection.isFetching ? error.about("url") : undefined);
  // A refused address would be refused as that of a project too.
  const isUnread =
    isCurrent &&
    urlError === undefined &&
    (inspection.isError || (found !== undefined && found.problem !== ""));
  return (
    <Panel title={t("setUp.repository")}>
      <div className="form">
        <RepositoryChooser onChosen={onChosen} />
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
          error={urlError}
          onBlur={() => setLeft(urlField.value.trim())}
          onKeyDown={(event) => event.key === "Enter" && setLeft(urlField.value.trim())}
        />
        <div aria-live="polite">
          <State
            isChecking={inspection.isFetching}
            found={found}
            hasCredential={given !== undefined}
            error={urlError === undefined ? error : null}
            onRetry={() => void inspection.refetch()}
          />
        </div>
        {byToken !== null && isSshUrl(url) && found?.problem === "" && (
          <Text size="sm" c="dimmed">
            {t("setUp.readByToken", { origin: originOf(byToken.url) })}
          </Text>
        )}
        {latest !== undefined && (latest.needsCredential || given !== undefined) && (
          <Credential
            url={url}
            provider={latest.provider}
            fields={fields}
            isChecking={inspection.isFetching}
            isAccepted={found?.problem === "" && given === JSON.stringify(credentialOf(url, fields))}
            onChange={(typed) => onCredential(typed, false)}
            onCheck={() => onCredential(fields, true)}
          />
        )}
        {isUnread && (
          <div>
            <Anchor component="button" type="button" size="sm" onClick={onSkipped}>
              {t("setUp.skipReading")}
            </Anchor>
          </div>
        )}
      </div>
    </Panel>
  );
}

function State({
  isChecking,
  found,
  hasCredential,
  error,
  onRetry,
}: {
  isChecking: boolean;
  found: Inspected | undefined;
  hasCredential: boolean;
  error: Error | null;
  onRetry: () => void;
}): ReactNode {
  if (isChecking)
    return (
      <Text size="sm" c="dimmed">
        <Loader size={14} mr={8} />
        {t("setUp.checking")}
      </Text>
    );
  if (error !== null) return <Problem title={t("setUp.notRead")} problem={error} onRetry={onRetry} />;
  if (found === undefined) return null;
  // A private repository is no error: the next step is to enter a credential.
  if (found.needsCredential && !hasCredential)
    return (
      <Alert color="gray" variant="light" role="note" title={t("setUp.needsCredential")}>
        {t("setUp.credential")}
      </Alert>
    );
  if (found.problem !== "")
    return (
      <Problem
        title={t("setUp.notRead")}
        problem={reasonIn(found.problem, found.problemParts)}
        onRetry={onRetry}
      />
    );
  if (found.defaultBranch === null)
    return (
      <Alert color="gray" variant="light" role="note">
        {t("setUp.empty")}
      </Alert>
    );
  return (
    <Alert color="tide" variant="light" role="note" className="found-repository">
      {found.provider !== null && <strong>{hostName(found.provider)} · </strong>}
      {t("setUp.found", { count: found.branches.length })}
    </Alert>
  );
}

function Credential({
  url,
  provider,
  fields,
  isChecking,
  isAccepted,
  onChange,
  onCheck,
}: {
  url: string;
  provider: Inspected["provider"];
  fields: CredentialFields;
  isChecking: boolean;
  /** The repository could be read with what was typed. */
  isAccepted: boolean;
  onChange: (fields: CredentialFields) => void;
  onCheck: () => void;
}) {
  const page = tokenPageOf(provider, url, fields.createsWebhook ? "manage" : "read");
  return (
    <fieldset
      className="plain form"
      onKeyDown={(event) => {
        if (event.key !== "Enter" || !(event.target instanceof HTMLInputElement)) return;
        // Enter would add the project with a credential that nobody checked.
        event.preventDefault();
        if (!isAccepted) onCheck();
      }}
    >
      {isSshUrl(url) ? (
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
            description={t("setUp.usernameHint")}
            autoComplete="off"
            value={fields.username}
            onChange={(event) => onChange({ ...fields, username: event.currentTarget.value })}
          />
          <div>
            <PasswordInput
              label={t("setUp.token")}
              description={t("setUp.tokenHint")}
              autoComplete="off"
              value={fields.token}
              onChange={(event) => onChange({ ...fields, token: event.currentTarget.value })}
            />
            {page !== null && (
              <Anchor size="sm" mt={6} display="inline-block" href={page} target="_blank" rel="noreferrer">
                {t("hostHook.tokenPage")}
              </Anchor>
            )}
          </div>
          {isHostKind(provider) && (
            <Checkbox
              label={t("setUp.createsWebhook")}
              description={t(`hostHook.scope_${provider}`)}
              checked={fields.createsWebhook}
              onChange={(event) => onChange({ ...fields, createsWebhook: event.currentTarget.checked })}
            />
          )}
        </>
      )}
      {!isAccepted && (
        <div>
          <Button loading={isChecking} onClick={onCheck}>
            {t("setUp.checkAgain")}
          </Button>
        </div>
      )}
    </fieldset>
  );
}
