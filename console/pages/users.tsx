import { Button, Menu, PasswordInput, Select, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useAct } from "../act.ts";
import { usePageNumber } from "../address.ts";
import { answerOf, api } from "../api.ts";
import { ConfirmButton } from "../components/confirm.tsx";
import { FormModal } from "../components/form-modal.tsx";
import { Icon } from "../components/icon.tsx";
import { List } from "../components/list.tsx";
import { Moment } from "../components/moment.tsx";
import { Empty, PageHead } from "../components/page.tsx";
import { meQuery } from "../session.ts";
import type { User } from "../shapes.ts";

export default function Users() {
  const page = usePageNumber();
  const [isAdding, adding] = useDisclosure(false);
  const query = useQuery({
    queryKey: ["users", page],
    queryFn: () => answerOf(api.users.$get({ query: { page } })),
    placeholderData: keepPreviousData,
  });
  return (
    <>
      <PageHead
        title="Users"
        about="People who may sign in. What they may do with a project is set on the project or its group."
      >
        <Button leftSection={<Icon name="plus" size={16} />} onClick={adding.open}>
          Add a user
        </Button>
      </PageHead>
      <List
        label="Users"
        query={query}
        empty={<Empty title="Nobody but you" />}
        columns={[
          { title: "Username", cell: (user) => <b className="foreign">{user.username}</b> },
          { title: "Role", cell: (user) => user.role },
          { title: "Sign-in", cell: (user) => (user.disabled ? "disabled" : "allowed") },
          { title: "Since", cell: (user) => <Moment at={user.createdAt} />, isWide: true },
          { title: "Actions", cell: (user) => <UserMenu user={user} /> },
        ]}
      />
      <AddUser isOpen={isAdding} onClose={adding.close} />
    </>
  );
}

function AddUser({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  const [username, setUsername] = useState("");
  const [password, setPassword] = useState("");
  const [role, setRole] = useState<User["role"]>("user");
  const add = useAct(() => answerOf(api.users.$post({ json: { username, password, role } })), {
    done: `${username} may sign in now.`,
    refresh: ["users"],
  });
  return (
    <FormModal
      title="Add a user"
      submit="Add the user"
      isOpen={isOpen}
      onClose={onClose}
      onSubmit={() => add.mutateAsync(undefined)}
    >
      {(errorOf) => (
        <>
          <TextInput
            label="Username"
            required
            autoComplete="off"
            data-autofocus
            value={username}
            error={errorOf("username")}
            onChange={(event) => setUsername(event.currentTarget.value)}
          />
          <PasswordInput
            label="Password"
            description="At least 8 characters; tell it to them, they can change it."
            required
            autoComplete="new-password"
            value={password}
            error={errorOf("password")}
            onChange={(event) => setPassword(event.currentTarget.value)}
          />
          <RoleSelect value={role} onChange={setRole} />
        </>
      )}
    </FormModal>
  );
}

function RoleSelect({ value, onChange }: { value: User["role"]; onChange: (role: User["role"]) => void }) {
  return (
    <Select
      label="Role"
      description="An admin may do everything; a user what projects and groups grant."
      data={["user", "admin"]}
      allowDeselect={false}
      value={value}
      onChange={(role) => onChange(role === "admin" ? "admin" : "user")}
    />
  );
}

function UserMenu({ user }: { user: User }) {
  const [isSettingPassword, settingPassword] = useDisclosure(false);
  const { data: me } = useQuery(meQuery);
  const param = { id: user.id };
  const change = useAct(
    (json: { role?: User["role"]; disabled?: boolean }) => answerOf(api.users[":id"].$patch({ param, json })),
    { done: `${user.username} was changed.`, refresh: ["users"] },
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
          <Button size="compact-sm" variant="default" aria-label={`Change ${user.username}`}>
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
  const [password, setPassword] = useState("");
  const set = useAct(
    () => answerOf(api.users[":id"].$patch({ param: { id: user.id }, json: { password } })),
    {
      done: `${user.username} has a new password.`,
    },
  );
  return (
    <FormModal
      title={`New password of ${user.username}`}
      submit="Set the password"
      isOpen={isOpen}
      onClose={onClose}
      onSubmit={() => set.mutateAsync(undefined)}
    >
      {(errorOf) => (
        <PasswordInput
          label="Password"
          description="At least 8 characters. Their sessions end."
          required
          autoComplete="new-password"
          data-autofocus
          value={password}
          error={errorOf("password")}
          onChange={(event) => setPassword(event.currentTarget.value)}
        />
      )}
    </FormModal>
  );
}
