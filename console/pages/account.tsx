import { Badge, Button, Checkbox, PasswordInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useAct } from "../act.ts";
import { ApiProblem, answerOf, api } from "../api.ts";
import { ItemTable } from "../components/list.tsx";
import { Moment } from "../components/moment.tsx";
import { PageHead, Panel, Problem } from "../components/page.tsx";
import { Loaded } from "../components/query.tsx";
import { submitting } from "../draft.ts";
import { meQuery } from "../session.ts";
import type { Session } from "../shapes.ts";
import { useUnsaved } from "../unsaved.ts";
import { visible } from "../visible.ts";

export default function Account() {
  const { data: me } = useQuery(meQuery);
  return (
    <>
      <PageHead
        title="Your account"
        about={visible(`You are signed in as ${me?.username ?? ""} (${me?.role ?? ""}).`)}
      />
      <div className="stack">
        <PasswordPanel />
        <SessionsPanel />
      </div>
    </>
  );
}

const fieldNames = new Set(["oldPassword", "newPassword"]);

function PasswordPanel() {
  const [oldPassword, setOld] = useState("");
  const [newPassword, setNew] = useState("");
  // The browser may fill in the old password by itself.
  useUnsaved(newPassword !== "");
  const [keepTokens, setKeepTokens] = useState(false);
  const change = useAct(
    () => answerOf(api.auth.password.$post({ json: { oldPassword, newPassword, keepTokens } })),
    {
      done: keepTokens
        ? "Your password was changed; your other sessions have ended."
        : "Your password was changed; your other sessions have ended and your API tokens are revoked.",
      refresh: ["sessions"],
    },
  );
  const forget = () => {
    setOld("");
    setNew("");
    setKeepTokens(false);
  };
  const refused = change.error instanceof ApiProblem ? change.error : null;
  return (
    <Panel title="Password">
      <form onSubmit={submitting(() => change.mutateAsync(undefined), forget)} className="form">
        <PasswordInput
          label="Old password"
          autoComplete="current-password"
          required
          value={oldPassword}
          error={refused?.about("oldPassword")}
          onChange={(event) => setOld(event.currentTarget.value)}
        />
        <PasswordInput
          label="New password"
          description="At least 8 characters. Every other session of yours ends."
          autoComplete="new-password"
          required
          value={newPassword}
          error={refused?.about("newPassword")}
          onChange={(event) => setNew(event.currentTarget.value)}
        />
        <Checkbox
          label="Keep my API tokens"
          description="Otherwise they are revoked: someone who knew the old password could have created one."
          checked={keepTokens}
          onChange={(event) => setKeepTokens(event.currentTarget.checked)}
        />
        {change.isError && !refused?.isAbout(fieldNames) && <Problem problem={change.error} />}
        <div>
          <Button type="submit" loading={change.isPending}>
            Change the password
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
    <Panel title="Sessions" about="Where you are signed in." isFlush>
      <Loaded query={sessions}>
        {({ items }) => (
          <ItemTable
            label="Sessions"
            items={items}
            columns={[
              { title: "Browser", cell: (session) => <Browser userAgent={session.userAgent} /> },
              { title: "Address", cell: (session) => <code>{visible(session.remoteIp)}</code> },
              { title: "Seen", cell: (session) => <Moment at={session.lastSeenAt} /> },
              { title: "Ends", cell: (session) => <Moment at={session.expiresAt} />, visibleFrom: "sm" },
              { title: "Actions", cell: (session) => <EndSession session={session} /> },
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
    done: "The session has ended.",
    refresh: ["sessions"],
  });
  if (session.current) return <Badge variant="default">this one</Badge>;
  return (
    <Button size="compact-sm" variant="default" loading={end.isPending} onClick={() => end.mutate(undefined)}>
      End
    </Button>
  );
}

/** `Firefox on Linux`, where the browser says so; else what it said. */
function browserOf(userAgent: string): string {
  const browser = /(Firefox|Edg|Chrome|Safari|curl)\//.exec(userAgent)?.[1];
  const system = /(Windows|Mac OS X|Android|iPhone|Linux)/.exec(userAgent)?.[1];
  if (browser === undefined) return userAgent || "unknown";
  return system === undefined ? browser : `${browser.replace("Edg", "Edge")} on ${system}`;
}
