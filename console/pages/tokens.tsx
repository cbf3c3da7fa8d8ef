import { Checkbox, Select, Stack, TextInput } from "@mantine/core";
import { useState } from "react";
import { answerOf, api } from "../api.ts";
import { ConfirmButton } from "../components/confirm.tsx";
import { FormButton } from "../components/form-modal.tsx";
import { Icon } from "../components/icon.tsx";
import { List } from "../components/list.tsx";
import { Moment } from "../components/moment.tsx";
import { Empty, PageHead } from "../components/page.tsx";
import { ShownOnce } from "../components/shown-once.tsx";
import { useListPage } from "../list-page.ts";
import type { ApiToken } from "../shapes.ts";
import { rich } from "../text/rich.ts";
import { t } from "../text/text.ts";
import { visible } from "../visible.ts";

const scopes = ["read", "write", "publish", "admin"] as const;

const lifetimes = () => [
  { value: "30", label: t("tokens.days", { count: 30 }) },
  { value: "90", label: t("tokens.days", { count: 90 }) },
  { value: "365", label: t("tokens.year") },
  { value: "0", label: t("words.never") },
];

export default function Tokens() {
  const [token, setToken] = useState<string | null>(null);
  const query = useListPage(["tokens"], (page) => answerOf(api.tokens.$get({ query: { page } })));
  return (
    <>
      <PageHead title={t("tokens.title")} about={t("tokens.about")}>
        <MakeToken onMade={setToken} />
      </PageHead>
      <List
        label={t("tokens.title")}
        query={query}
        empty={<Empty title={t("tokens.empty")}>{t("tokens.emptyHint")}</Empty>}
        columns={[
          { title: t("words.name"), cell: (item) => <b className="foreign">{visible(item.name)}</b> },
          { title: t("tokens.startsWith"), cell: (item) => <code>{visible(item.hint)}…</code> },
          { title: t("tokens.scopes"), cell: (item) => item.scopes.join(", ") },
          {
            title: t("tokens.lastUsed"),
            cell: (item) => (item.lastUsedAt ? <Moment at={item.lastUsedAt} /> : t("words.never")),
            visibleFrom: "md",
          },
          {
            title: t("tokens.ends"),
            cell: (item) => (item.expiresAt ? <Moment at={item.expiresAt} /> : t("words.never")),
            visibleFrom: "md",
          },
          { title: t("words.actions"), cell: (item) => <Revoke token={item} /> },
        ]}
      />
      <ShownOnce
        title={t("tokens.newTitle")}
        label={t("tokens.theToken")}
        value={token}
        onDone={() => setToken(null)}
      >
        {rich("tokens.newText", { header: <code>Authorization: Bearer …</code> })}
      </ShownOnce>
    </>
  );
}

function Revoke({ token }: { token: ApiToken }) {
  return (
    <ConfirmButton
      label={t("tokens.revoke")}
      aria-label={t("tokens.revokeOne", { name: token.name })}
      size="compact-sm"
      title={t("tokens.revokeTitle", { name: token.name })}
      confirm={t("tokens.revokeConfirm")}
      isDanger
      onConfirm={() => answerOf(api.tokens[":id"].$delete({ param: { id: token.id } }))}
      done={t("tokens.revoked", { name: token.name })}
      failed={t("tokens.revokeFailed", { name: token.name })}
      refresh={["tokens"]}
    >
      {t("tokens.revokeText")}
    </ConfirmButton>
  );
}

const newToken = { name: "", chosen: ["read"], days: "90" };

function MakeToken({ onMade }: { onMade: (token: string) => void }) {
  return (
    <FormButton
      title={t("tokens.create")}
      submit={t("tokens.createSubmit")}
      button={{ leftSection: <Icon name="plus" size={16} /> }}
      initial={newToken}
      onSubmit={async ({ name, chosen, days }) => {
        const expiresAt =
          days === "0" ? null : new Date(Date.now() + Number(days) * 86_400_000).toISOString();
        const wanted = scopes.filter((scope) => chosen.includes(scope));
        onMade((await answerOf(api.tokens.$post({ json: { name, scopes: wanted, expiresAt } }))).token);
      }}
      failed={t("tokens.createFailed")}
      refresh={["tokens"]}
    >
      {({ value, set, text, errorOf }) => (
        <>
          <TextInput
            label={t("words.name")}
            description={t("tokens.nameHint")}
            required
            data-autofocus
            {...text("name")}
          />
          <Checkbox.Group
            label={t("tokens.scopes")}
            value={value.chosen}
            onChange={(chosen) => set({ chosen })}
            error={errorOf("scopes")}
          >
            <Stack gap="xs" mt={6}>
              {scopes.map((scope) => (
                <Checkbox key={scope} value={scope} label={t(`tokens.scope_${scope}`)} />
              ))}
            </Stack>
          </Checkbox.Group>
          <Select
            label={t("tokens.lasts")}
            data={lifetimes()}
            allowDeselect={false}
            value={value.days}
            onChange={(days) => set({ days: days ?? "90" })}
          />
        </>
      )}
    </FormButton>
  );
}
