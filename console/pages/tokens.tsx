import { Checkbox, Select, Stack, TextInput } from "@mantine/core";
import { useState } from "react";
import { useAct } from "../act.ts";
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
import { visible } from "../visible.ts";

const scopes = [
  { value: "read", label: "read: look at what I may view" },
  { value: "write", label: "write: change what I may manage" },
  { value: "publish", label: "publish: push messages" },
  { value: "admin", label: "admin: all that I may do" },
] as const;

const lifetimes = [
  { value: "30", label: "30 days" },
  { value: "90", label: "90 days" },
  { value: "365", label: "1 year" },
  { value: "0", label: "no end" },
];

export default function Tokens() {
  const [token, setToken] = useState<string | null>(null);
  const query = useListPage(["tokens"], (page) => answerOf(api.tokens.$get({ query: { page } })));
  return (
    <>
      <PageHead
        title="API tokens"
        about="For scripts and CI. A token acts as you, within its scopes, until it ends or is revoked."
      >
        <MakeToken onMade={setToken} />
      </PageHead>
      <List
        label="API tokens"
        query={query}
        empty={
          <Empty title="No tokens yet">
            Make one to call the API from a script, instead of your password.
          </Empty>
        }
        columns={[
          { title: "Name", cell: (item) => <b className="foreign">{visible(item.name)}</b> },
          { title: "Starts with", cell: (item) => <code>{visible(item.hint)}…</code> },
          { title: "Scopes", cell: (item) => item.scopes.join(", ") },
          {
            title: "Last used",
            cell: (item) => (item.lastUsedAt ? <Moment at={item.lastUsedAt} /> : "never"),
            visibleFrom: "md",
          },
          {
            title: "Ends",
            cell: (item) => (item.expiresAt ? <Moment at={item.expiresAt} /> : "never"),
            visibleFrom: "md",
          },
          { title: "Actions", cell: (item) => <Revoke token={item} /> },
        ]}
      />
      <ShownOnce title="Your new token" label="the token" value={token} onDone={() => setToken(null)}>
        It is shown this once. Send it as <code>Authorization: Bearer …</code>
      </ShownOnce>
    </>
  );
}

function Revoke({ token }: { token: ApiToken }) {
  const revoke = useAct(() => answerOf(api.tokens[":id"].$delete({ param: { id: token.id } })), {
    done: `The token ${token.name} is revoked.`,
    refresh: ["tokens"],
  });
  return (
    <ConfirmButton
      label="Revoke"
      aria-label={`Revoke ${token.name}`}
      size="compact-sm"
      title={`Revoke ${token.name}?`}
      confirm="Revoke the token"
      isDanger
      onConfirm={() => revoke.mutateAsync(undefined)}
    >
      Whatever uses it is refused from now on.
    </ConfirmButton>
  );
}

const newToken = { name: "", chosen: ["read"], days: "90" };

function MakeToken({ onMade }: { onMade: (token: string) => void }) {
  const make = useAct(
    ({ name, chosen, days }: typeof newToken) => {
      const expiresAt = days === "0" ? null : new Date(Date.now() + Number(days) * 86_400_000).toISOString();
      const wanted = scopes.map((scope) => scope.value).filter((scope) => chosen.includes(scope));
      return answerOf(api.tokens.$post({ json: { name, scopes: wanted, expiresAt } }));
    },
    { refresh: ["tokens"] },
  );
  return (
    <FormButton
      title="Make a token"
      submit="Make the token"
      button={{ leftSection: <Icon name="plus" size={16} /> }}
      initial={newToken}
      onSubmit={async (token) => onMade((await make.mutateAsync(token)).token)}
    >
      {({ value, set, text, errorOf }) => (
        <>
          <TextInput
            label="Name"
            description="What it is for, so that you know it again."
            required
            data-autofocus
            {...text("name")}
          />
          <Checkbox.Group
            label="Scopes"
            value={value.chosen}
            onChange={(chosen) => set({ chosen })}
            error={errorOf("scopes")}
          >
            <Stack gap="xs" mt={6}>
              {scopes.map((scope) => (
                <Checkbox key={scope.value} value={scope.value} label={scope.label} />
              ))}
            </Stack>
          </Checkbox.Group>
          <Select
            label="Lasts"
            data={lifetimes}
            allowDeselect={false}
            value={value.days}
            onChange={(days) => set({ days: days ?? "90" })}
          />
        </>
      )}
    </FormButton>
  );
}
