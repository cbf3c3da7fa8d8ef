import { useQuery } from "@tanstack/react-query";
import { useAct } from "../../act.ts";
import { answerOf, api } from "../../api.ts";
import { ConfirmButton } from "../../components/confirm.tsx";
import { ItemTable } from "../../components/list.tsx";
import { Moment } from "../../components/moment.tsx";
import { Panel, Rows } from "../../components/page.tsx";
import { Loaded } from "../../components/query.tsx";
import { hostName } from "../../git-hosts.ts";
import { type HostToken, hostTokensQuery } from "../../host-token-query.ts";
import { t } from "../../text/text.ts";
import { visible } from "../../visible.ts";
import { ConnectHost } from "./connect-host.tsx";

/** The user's tokens for Git hosts: whose they are, what they may do, and how to forget them. */
export function HostTokensPanel() {
  const tokens = useQuery(hostTokensQuery);
  return (
    <Panel
      title={t("hostHook.tokens")}
      about={t("hostHook.tokensAbout")}
      action={<ConnectHost button={{ variant: "default" }} />}
      isFlush={(tokens.data?.items.length ?? 0) > 0}
    >
      <Loaded query={tokens} placeholder={<Rows count={1} shape="lines" />}>
        {({ items }) =>
          items.length === 0 ? (
            t("hostHook.noTokens")
          ) : (
            <ItemTable
              label={t("hostHook.tokens")}
              items={items}
              columns={[
                {
                  title: t("setUp.host"),
                  cell: (token) => (
                    <span className="foreign">
                      <b>{hostName(token.kind)}</b> {visible(token.origin)}
                    </span>
                  ),
                },
                {
                  title: t("hostHook.account"),
                  cell: (token) => <span className="foreign">{visible(token.login || "–")}</span>,
                },
                {
                  title: t("tokens.scopes"),
                  cell: (token) =>
                    token.scopes === null ? t("hostHook.scopesUnknown") : visible(token.scopes.join(", ")),
                  visibleFrom: "md",
                },
                {
                  title: t("tokens.ends"),
                  cell: (token) =>
                    token.expiresAt === null ? t("hostHook.endUnknown") : <Moment at={token.expiresAt} />,
                  visibleFrom: "md",
                },
                { title: t("words.actions"), cell: (token) => <Forget token={token} /> },
              ]}
            />
          )
        }
      </Loaded>
    </Panel>
  );
}

function Forget({ token: { id, origin } }: { token: HostToken }) {
  const forget = useAct(() => answerOf(api["host-tokens"][":id"].$delete({ param: { id } })), {
    done: t("hostHook.forgotten"),
    refresh: ["host-tokens", "host-hook"],
  });
  return (
    <ConfirmButton
      label={t("hostHook.forget")}
      aria-label={t("hostHook.forgetOne", { origin })}
      size="compact-sm"
      title={t("hostHook.forgetQuestion", { origin })}
      confirm={t("hostHook.forget")}
      isDanger
      onConfirm={() => forget.mutateAsync(undefined)}
    >
      {t("hostHook.forgetHint")}
    </ConfirmButton>
  );
}
