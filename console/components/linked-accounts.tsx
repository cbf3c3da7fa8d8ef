import { Button, Group, Modal, Text } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useAct } from "../act.ts";
import { answerOf, api } from "../api.ts";
import type { User } from "../shapes.ts";
import { goToProvider, identitiesQuery, type Linked, type Provider, providersQuery } from "../sign-in.ts";
import { t } from "../text/text.ts";
import { visible } from "../visible.ts";
import { ConfirmButton } from "./confirm.tsx";
import { ItemTable } from "./list.tsx";
import { Moment } from "./moment.tsx";
import { Panel, Problem } from "./page.tsx";
import { Loaded } from "./query.tsx";

type UnlinkAccount = (id: number) => Promise<unknown>;

/** The accounts with which the user can sign in. Not shown where there is no provider and none was ever linked. */
export function LinkedAccounts() {
  const identities = useQuery(identitiesQuery);
  const providers = useQuery(providersQuery);
  const choices = providers.data?.items ?? [];
  if (choices.length === 0 && (identities.data?.items.length ?? 0) === 0) return null;
  return (
    <Panel
      title={t("account.linked")}
      about={t("account.linkedAbout")}
      action={
        <Group gap="xs">
          {choices.map((provider) => (
            <LinkButton key={provider.name} provider={provider} />
          ))}
        </Group>
      }
      isFlush={(identities.data?.items.length ?? 0) > 0}
    >
      <Loaded query={identities}>
        {({ items }) =>
          items.length === 0 ? (
            t("account.noneLinked")
          ) : (
            <Accounts
              items={items}
              hint={t("account.unlinkHint")}
              unlink={(id) => answerOf(api.auth.identities[":id"].$delete({ param: { id } }))}
            />
          )
        }
      </Loaded>
    </Panel>
  );
}

/** The same of another user, for an administrator. */
export function LinkedAccountsOf({
  user: { id: userId, username },
  isOpen,
  onClose,
}: {
  user: User;
  isOpen: boolean;
  onClose: () => void;
}) {
  const param = { id: userId };
  const identities = useQuery({
    queryKey: ["identities", userId],
    queryFn: () => answerOf(api.users[":id"].identities.$get({ param })),
    enabled: isOpen,
  });
  return (
    <Modal
      opened={isOpen}
      onClose={onClose}
      size="lg"
      title={<Text fw={620}>{visible(t("users.linkedOf", { username }))}</Text>}
    >
      <Loaded query={identities}>
        {({ items }) =>
          items.length === 0 ? (
            t("users.noneLinked")
          ) : (
            <Accounts
              items={items}
              hint={t("users.unlinkHint")}
              unlink={(identityId) =>
                answerOf(
                  api.users[":id"].identities[":identityId"].$delete({ param: { ...param, identityId } }),
                )
              }
            />
          )
        }
      </Loaded>
    </Modal>
  );
}

function Accounts({ items, hint, unlink }: { items: Linked[]; hint: string; unlink: UnlinkAccount }) {
  return (
    <ItemTable
      label={t("account.linked")}
      items={items}
      columns={[
        {
          title: t("account.provider"),
          cell: ({ title, host }) => (
            <span className="foreign">
              <b>{visible(title)}</b> {visible(host)}
            </span>
          ),
        },
        {
          title: t("hostHook.account"),
          cell: ({ login }) => <span className="foreign">{visible(login)}</span>,
        },
        {
          title: t("account.lastUsed"),
          cell: ({ lastUsedAt }) => <Moment at={lastUsedAt} />,
          visibleFrom: "md",
        },
        {
          title: t("words.actions"),
          cell: ({ id, login }) => <Unlink login={login} hint={hint} unlink={() => unlink(id)} />,
        },
      ]}
    />
  );
}

function LinkButton({ provider: { name, title } }: { provider: Provider }) {
  const go = useMutation({ mutationFn: () => goToProvider(name, { returnTo: "/account", link: true }) });
  return (
    <>
      <Button variant="default" loading={go.isPending} onClick={() => go.mutate()}>
        {visible(t("account.link", { title }))}
      </Button>
      {go.isError && <Problem title={t("account.linkFailed")} problem={go.error} />}
    </>
  );
}

function Unlink({ login, hint, unlink }: { login: string; hint: string; unlink: () => Promise<unknown> }) {
  const act = useAct(unlink, {
    done: t("account.unlinked"),
    failed: t("account.unlinkFailed"),
    refresh: ["identities", "sessions", "me"],
  });
  return (
    <ConfirmButton
      label={t("account.unlink")}
      aria-label={t("account.unlinkOne", { login })}
      size="compact-sm"
      title={t("account.unlinkQuestion", { login })}
      confirm={t("account.unlink")}
      isDanger
      onConfirm={() => act.mutateAsync(undefined)}
    >
      {hint}
    </ConfirmButton>
  );
}
