import { Badge, Button, Checkbox, NativeSelect, PasswordInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Language } from "../../src/model/language.ts";
import { useAct } from "../act.ts";
import { answerOf, api } from "../api.ts";
import { LinkedAccounts } from "../components/linked-accounts.tsx";
import { ItemTable } from "../components/list.tsx";
import { Moment } from "../components/moment.tsx";
import { ActProblem, PageHead, Panel } from "../components/page.tsx";
import { Loaded } from "../components/query.tsx";
import { submitting } from "../draft.ts";
import { meQuery } from "../session.ts";
import type { Session } from "../shapes.ts";
import { t } from "../text/text.ts";
import { useUnsaved } from "../unsaved.ts";
import { visible } from "../visible.ts";
import { HostTokensPanel } from "./set-up/host-tokens-panel.tsx";

export default function Account() {
  const { data: me } = useQuery(meQuery);
  return (
    <>
      <PageHead
        title={t("account.title")}
        about={me && visible(t("account.about", { username: me.username, role: t(`words.role_${me.role}`) }))}
      />
      <div className="stack">
        <LanguagePanel />
        <LinkedAccounts />
        <HostTokensPanel />
        <PasswordPanel />
        <SessionsPanel />
      </div>
    </>
  );
}

/** Each language is named in itself: its readers may know no other. */
const languageNames = { en: "English", "zh-CN": "简体中文" };

function LanguagePanel() {
  const { data: me } = useQuery(meQuery);
  const choose = useAct(
    async (chosen: Language | null) => {
      await answerOf(api.auth.me.$patch({ json: { language: chosen } }));
      location.reload();
    },
    { failed: t("account.languageFailed") },
  );
  return (
    <Panel title={t("account.language")}>
      <NativeSelect
        label={t("account.language")}
        description={t("account.languageHint")}
        maw={420}
        disabled={choose.isPending}
        value={me?.language ?? ""}
        onChange={({ currentTarget }) => choose.mutate((currentTarget.value || null) as Language | null)}
      >
        <option value="">{t("account.languageBrowser")}</option>
        {Object.entries(languageNames).map(([tag, name]) => (
          <option key={tag} value={tag} lang={tag}>
            {name}
          </option>
        ))}
      </NativeSelect>
    </Panel>
  );
}

function PasswordPanel() {
  const [oldPassword, setOld] = useState("");
  const [newPassword, setNew] = useState("");
  // The browser may fill in the old password by itself.
  useUnsaved(newPassword !== "");
  const [keepTokens, setKeepTokens] = useState(false);
  const change = useAct(
    () => answerOf(api.auth.password.$post({ json: { oldPassword, newPassword, keepTokens } })),
    {
      done: t(keepTokens ? "account.passwordChangedKept" : "account.passwordChanged"),
      failed: t("account.passwordFailed"),
      refresh: ["sessions"],
    },
  );
  const forget = () => {
    setOld("");
    setNew("");
    setKeepTokens(false);
  };
  return (
    <Panel title={t("account.password")}>
      <form onSubmit={submitting(() => change.mutateAsync(undefined), forget)} className="form">
        <PasswordInput
          label={t("account.oldPassword")}
          autoComplete="current-password"
          required
          value={oldPassword}
          error={change.errorOf("oldPassword")}
          onChange={(event) => setOld(event.currentTarget.value)}
        />
        <PasswordInput
          label={t("account.newPassword")}
          description={t("account.newPasswordHint")}
          autoComplete="new-password"
          required
          value={newPassword}
          error={change.errorOf("newPassword")}
          onChange={(event) => setNew(event.currentTarget.value)}
        />
        <Checkbox
          label={t("account.keepTokens")}
          description={t("account.keepTokensHint")}
          checked={keepTokens}
          onChange={(event) => setKeepTokens(event.currentTarget.checked)}
        />
        <ActProblem act={change} />
        <div>
          <Button type="submit" loading={change.isPending}>
            {t("account.changePassword")}
          </Button>
        </div>
      </form>
    </Panel>
  );
}

function SessionsPanel() {
  const sessions = useQuery({
    queryKey: ["sessions"],
    queryFn: () => answerOf(api.auth.sessions.$get()),
  });
  return (
    <Panel title={t("account.sessions")} about={t("account.sessionsAbout")} isFlush>
      <Loaded query={sessions}>
        {({ items }) => (
          <ItemTable
            label={t("account.sessions")}
            items={items}
            columns={[
              { title: t("account.browser"), cell: (session) => <Browser userAgent={session.userAgent} /> },
              { title: t("account.address"), cell: (session) => <code>{visible(session.remoteIp)}</code> },
              { title: t("account.lastSeen"), cell: (session) => <Moment at={session.lastSeenAt} /> },
              {
                title: t("account.ends"),
                cell: (session) => <Moment at={session.expiresAt} />,
                visibleFrom: "md",
              },
              { title: t("words.actions"), cell: (session) => <EndSession session={session} /> },
            ]}
          />
        )}
      </Loaded>
    </Panel>
  );
}

function Browser({ userAgent }: Pick<Session, "userAgent">) {
  return (
    <span className="cut" style={{ maxWidth: 320 }} title={visible(userAgent)}>
      {visible(browserOf(userAgent))}
    </span>
  );
}

function EndSession({ session }: { session: Session }) {
  const end = useAct(() => answerOf(api.auth.sessions[":id"].$delete({ param: { id: session.id } })), {
    done: t("account.sessionEnded"),
    failed: t("account.endSessionFailed"),
    refresh: ["sessions"],
  });
  if (session.current) return <Badge variant="default">{t("account.currentSession")}</Badge>;
  return (
    <Button size="compact-sm" variant="default" loading={end.isPending} onClick={() => end.mutate(undefined)}>
      {t("account.endSession")}
    </Button>
  );
}

/** `Firefox on Linux`; the whole text of a client that names no known browser. */
function browserOf(userAgent: string): string {
  const browser = /(Firefox|Edg|Chrome|Safari|curl)\//.exec(userAgent)?.[1];
  const system = /(Windows|Mac OS X|Android|iPhone|Linux)/.exec(userAgent)?.[1];
  if (browser === undefined) return userAgent || t("account.browserUnknown");
  const name = browser.replace("Edg", "Edge");
  return system === undefined ? name : t("account.browserOn", { browser: name, system });
}
