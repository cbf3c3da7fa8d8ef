import { Button, Checkbox, Menu, MultiSelect, PasswordInput, Select, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useAct } from "../act.ts";
import { idOf, useAddressFilters } from "../address.ts";
import { answerOf, api } from "../api.ts";
import { ConfirmButton } from "../components/confirm.tsx";
import { FormButton, FormModal } from "../components/form-modal.tsx";
import { Icon } from "../components/icon.tsx";
import { LinkedAccountsOf } from "../components/linked-accounts.tsx";
import { List } from "../components/list.tsx";
import { Moment } from "../components/moment.tsx";
import { Empty, PageHead } from "../components/page.tsx";
import { useGroups } from "../group-query.ts";
import { useListPage } from "../list-page.ts";
import { projectNamesQuery } from "../project-names.ts";
import { meQuery } from "../session.ts";
import type { User } from "../shapes.ts";
import { t } from "../text/text.ts";
import { visible } from "../visible.ts";

export default function Users() {
  const [{ user }, change] = useAddressFilters(["user"]);
  const wanted = idOf(user);
  const query = useListPage(["users", wanted], async (page) => {
    if (wanted === null) return answerOf(api.users.$get({ query: { page } }));
    const one = await answerOf(api.users[":id"].$get({ param: { id: wanted } }));
    return { items: [one], total: 1, page: 1, pageSize: 1 };
  });
  return (
    <>
      <PageHead title={t("users.title")} about={t("users.about")}>
        {wanted !== null && (
          <Button variant="default" onClick={() => change({ user: "" })}>
            {t("users.showAll")}
          </Button>
        )}
        <AddUser />
      </PageHead>
      <List
        label={t("users.title")}
        query={query}
        empty={<Empty title={t("users.empty")} />}
        columns={[
          { title: t("users.username"), cell: (user) => <b className="foreign">{visible(user.username)}</b> },
          { title: t("users.role"), cell: (user) => t(`words.role_${user.role}`) },
          { title: t("users.signIn"), cell: (user) => t(user.disabled ? "users.disabled" : "users.allowed") },
          { title: t("users.since"), cell: (user) => <Moment at={user.createdAt} />, visibleFrom: "md" },
          { title: t("words.actions"), cell: (user) => <UserMenu user={user} /> },
        ]}
      />
    </>
  );
}

const newUser = { username: "", password: "", role: "user" as User["role"], access: [] as string[] };

/** Adds the user, who may view what was chosen: `projects/3`, `groups/1`. */
async function addUser({ access, ...json }: typeof newUser) {
  const user = await answerOf(api.users.$post({ json }));
  for (const place of access) {
    const [kind, id = ""] = place.split("/");
    const members = kind === "groups" ? api.groups[":id"].members : api.projects[":id"].members;
    const param = { id: Number(id), userId: user.id };
    await answerOf(members[":userId"].$put({ param, json: { permission: "view" } }));
  }
  return user;
}

function AddUser() {
  const groups = useGroups();
  const { data: projects } = useQuery(projectNamesQuery("", 100));
  const places = [
    {
      group: t("users.accessGroups"),
      items: groups.map(({ id, name }) => ({ value: `groups/${id}`, label: visible(name) })),
    },
    {
      group: t("users.accessProjects"),
      items: (projects?.items ?? []).map(({ id, name }) => ({
        value: `projects/${id}`,
        label: visible(name),
      })),
    },
  ];
  return (
    <FormButton
      title={t("users.add")}
      submit={t("users.addSubmit")}
      button={{ leftSection: <Icon name="plus" size={16} /> }}
      initial={newUser}
      onSubmit={addUser}
      done={({ username }) => t("users.added", { username })}
      failed={t("users.addFailed")}
      refresh={["users", "members"]}
    >
      {({ value, set, text }) => (
        <>
          <TextInput
            label={t("users.username")}
            required
            autoComplete="off"
            data-autofocus
            {...text("username")}
          />
          <PasswordInput
            label={t("users.password")}
            description={t("users.newPasswordHint")}
            required
            autoComplete="new-password"
            {...text("password")}
          />
          <Select
            label={t("users.role")}
            description={t("users.roleHint")}
            data={(["user", "admin"] as const).map((role) => ({
              value: role,
              label: t(`words.role_${role}`),
            }))}
            allowDeselect={false}
            value={value.role}
            onChange={(role) => set({ role: role === "admin" ? "admin" : "user" })}
          />
          {value.role === "user" && (
            <MultiSelect
              label={t("users.accessTo")}
              description={t("users.accessHint")}
              searchable
              data={places}
              value={value.access}
              onChange={(access) => set({ access })}
            />
          )}
        </>
      )}
    </FormButton>
  );
}

function UserMenu({ user }: { user: User }) {
  const [isSettingPassword, settingPassword] = useDisclosure(false);
  const [isShowingLinked, showingLinked] = useDisclosure(false);
  const { data: me } = useQuery(meQuery);
  const param = { id: user.id };
  const { username } = user;
  const change = useAct(
    (json: { role?: User["role"]; disabled?: boolean }) =>
      answerOf(api.users[":id"].$patch({ param, header: {}, json })),
    {
      done: t("users.changed", { username }),
      failed: t("users.changeFailed", { username }),
      refresh: ["users", "runners"],
    },
  );
  const endSessions = useAct(() => answerOf(api.users[":id"].sessions.$delete({ param })), {
    done: t("users.signedOut", { username }),
    failed: t("users.signOutFailed", { username }),
  });
  const isMe = me?.id === user.id;
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <Button
            size="compact-sm"
            variant="default"
            aria-label={visible(t("users.changeOne", { username }))}
          >
            {t("users.change")}
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item
            onClick={() => change.mutate({ role: user.role === "admin" ? "user" : "admin" })}
            disabled={isMe}
          >
            {t(user.role === "admin" ? "users.makeUser" : "users.makeAdmin")}
          </Menu.Item>
          <Menu.Item onClick={settingPassword.open}>{t("users.setPassword")}</Menu.Item>
          <Menu.Item onClick={showingLinked.open}>{t("account.linked")}</Menu.Item>
          <Menu.Item onClick={() => endSessions.mutate(undefined)}>{t("users.signOut")}</Menu.Item>
          <Menu.Item onClick={() => change.mutate({ disabled: !user.disabled })} disabled={isMe}>
            {t(user.disabled ? "users.allow" : "users.forbid")}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {!isMe && (
        <>
          {" "}
          <ConfirmButton
            label={t("words.deleteItem")}
            aria-label={t("users.deleteOne", { username })}
            size="compact-sm"
            title={t("users.deleteTitle", { username })}
            confirm={t("users.deleteConfirm")}
            isDanger
            onConfirm={() => answerOf(api.users[":id"].$delete({ param }))}
            done={t("users.deleted", { username })}
            failed={t("users.deleteFailed", { username })}
            refresh={["users"]}
          >
            {t("users.deleteText")}
          </ConfirmButton>
        </>
      )}
      <SetPassword user={user} isOpen={isSettingPassword} onClose={settingPassword.close} />
      <LinkedAccountsOf user={user} isOpen={isShowingLinked} onClose={showingLinked.close} />
    </>
  );
}

function SetPassword({ user, isOpen, onClose }: { user: User; isOpen: boolean; onClose: () => void }) {
  return (
    <FormModal
      title={t("users.newPasswordTitle", { username: user.username })}
      submit={t("users.newPasswordSubmit")}
      isOpen={isOpen}
      onClose={onClose}
      initial={{ password: "", keepTokens: false }}
      onSubmit={(json) => answerOf(api.users[":id"].$patch({ param: { id: user.id }, header: {}, json }))}
      done={t("users.newPasswordSet", { username: user.username })}
      failed={t("users.newPasswordFailed", { username: user.username })}
    >
      {({ value, set, text }) => (
        <>
          <PasswordInput
            label={t("users.password")}
            description={t("users.sessionsEnd")}
            required
            autoComplete="new-password"
            data-autofocus
            {...text("password")}
          />
          <Checkbox
            label={t("users.keepTokens")}
            description={t("users.keepTokensHint")}
            checked={value.keepTokens}
            onChange={(event) => set({ keepTokens: event.currentTarget.checked })}
          />
        </>
      )}
    </FormModal>
  );
}
