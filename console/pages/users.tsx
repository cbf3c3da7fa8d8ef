import { Button, Checkbox, Menu, PasswordInput, Select, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useAct } from "../act.ts";
import { answerOf, api } from "../api.ts";
import { ConfirmButton } from "../components/confirm.tsx";
import { FormButton, FormModal } from "../components/form-modal.tsx";
import { Icon } from "../components/icon.tsx";
import { List } from "../components/list.tsx";
import { Moment } from "../components/moment.tsx";
import { Empty, PageHead } from "../components/page.tsx";
import { useListPage } from "../list-page.ts";
import { meQuery } from "../session.ts";
import type { User } from "../shapes.ts";
import { visible } from "../visible.ts";

export default function Users() {
  const query = useListPage(["users"], (page) => answerOf(api.users.$get({ query: { page } })));
  return (
    <>
      <PageHead
        title="Users"
        about="People who may sign in. What they may do with a project is set on the project or its group."
      >
        <AddUser />
      </PageHead>
      <List
        label="Users"
        query={query}
        empty={<Empty title="Nobody but you" />}
        columns={[
          { title: "Username", cell: (user) => <b className="foreign">{visible(user.username)}</b> },
          { title: "Role", cell: (user) => user.role },
          { title: "Sign-in", cell: (user) => (user.disabled ? "disabled" : "allowed") },
          { title: "Since", cell: (user) => <Moment at={user.createdAt} />, visibleFrom: "md" },
          { title: "Actions", cell: (user) => <UserMenu user={user} /> },
        ]}
      />
    </>
  );
}

const newUser = { username: "", password: "", role: "user" as User["role"] };

function AddUser() {
  const add = useAct((json: typeof newUser) => answerOf(api.users.$post({ json })), {
    done: ({ username }) => `${username} may sign in now.`,
    refresh: ["users"],
  });
  return (
    <FormButton
      title="Add a user"
      submit="Add the user"
      button={{ leftSection: <Icon name="plus" size={16} /> }}
      initial={newUser}
      onSubmit={(user) => add.mutateAsync(user)}
    >
      {({ value, set, text }) => (
        <>
          <TextInput label="Username" required autoComplete="off" data-autofocus {...text("username")} />
          <PasswordInput
            label="Password"
            description="At least 8 characters; tell it to them, they can change it."
            required
            autoComplete="new-password"
            {...text("password")}
          />
          <Select
            label="Role"
            description="An admin may do everything; a user what projects and groups grant."
            data={["user", "admin"]}
            allowDeselect={false}
            value={value.role}
            onChange={(role) => set({ role: role === "admin" ? "admin" : "user" })}
          />
        </>
      )}
    </FormButton>
  );
}

function UserMenu({ user }: { user: User }) {
  const [isSettingPassword, settingPassword] = useDisclosure(false);
  const { data: me } = useQuery(meQuery);
  const param = { id: user.id };
  const change = useAct(
    (json: { role?: User["role"]; disabled?: boolean }) =>
      answerOf(api.users[":id"].$patch({ param, header: {}, json })),
    { done: `${user.username} was changed.`, refresh: ["users", "runners"] },
  );
  const endSessions = useAct(() => answerOf(api.users[":id"].sessions.$delete({ param })), {
    done: `${user.username} is signed out everywhere.`,
  });
  const remove = useAct(() => answerOf(api.users[":id"].$delete({ param })), {
    done: `${user.username} was deleted.`,
    refresh: ["users"],
  });
  const isMe = me?.id === user.id;
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <Button size="compact-sm" variant="default" aria-label={`Change ${visible(user.username)}`}>
            Change
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item
            onClick={() => change.mutate({ role: user.role === "admin" ? "user" : "admin" })}
            disabled={isMe}
          >
            {user.role === "admin" ? "Make a user" : "Make an admin"}
          </Menu.Item>
          <Menu.Item onClick={settingPassword.open}>Set a password</Menu.Item>
          <Menu.Item onClick={() => endSessions.mutate(undefined)}>Sign out everywhere</Menu.Item>
          <Menu.Item onClick={() => change.mutate({ disabled: !user.disabled })} disabled={isMe}>
            {user.disabled ? "Allow to sign in" : "Forbid to sign in"}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {!isMe && (
        <>
          {" "}
          <ConfirmButton
            label="Delete"
            aria-label={`Delete ${user.username}`}
            size="compact-sm"
            title={`Delete ${user.username}?`}
            confirm="Delete the user"
            isDanger
            onConfirm={() => remove.mutateAsync(undefined)}
          >
            Their sessions and tokens end at once. What they did stays in the audit.
          </ConfirmButton>
        </>
      )}
      <SetPassword user={user} isOpen={isSettingPassword} onClose={settingPassword.close} />
    </>
  );
}

function SetPassword({ user, isOpen, onClose }: { user: User; isOpen: boolean; onClose: () => void }) {
  const set = useAct(
    (json: { password: string; keepTokens: boolean }) =>
      answerOf(api.users[":id"].$patch({ param: { id: user.id }, header: {}, json })),
    { done: `${user.username} has a new password.` },
  );
  return (
    <FormModal
      title={`New password of ${user.username}`}
      submit="Set the password"
      isOpen={isOpen}
      onClose={onClose}
      initial={{ password: "", keepTokens: false }}
      onSubmit={(fields) => set.mutateAsync(fields)}
    >
      {({ value, set, text }) => (
        <>
          <PasswordInput
            label="Password"
            description="At least 8 characters. Their sessions end."
            required
            autoComplete="new-password"
            data-autofocus
            {...text("password")}
          />
          <Checkbox
            label="Keep their API tokens"
            description="Otherwise they are revoked."
            checked={value.keepTokens}
            onChange={(event) => set({ keepTokens: event.currentTarget.checked })}
          />
        </>
      )}
    </FormModal>
  );
}
