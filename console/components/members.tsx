import { Button, Group, Select, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type FormEvent, type ReactNode, useState } from "react";
import { Link } from "wouter";
import { useAct } from "../act.ts";
import { ApiProblem, answerOf, api } from "../api.ts";
import { useGroups } from "../group-query.ts";
import { projectQuery } from "../project-query.ts";
import { tellWithUndo } from "../tell-undo.tsx";
import { rich } from "../text/rich.ts";
import { t } from "../text/text.ts";
import { useUnsaved } from "../unsaved.ts";
import { visible } from "../visible.ts";
import { ConfirmButton } from "./confirm.tsx";
import { ForManagers } from "./permission.tsx";
import { Loaded } from "./query.tsx";
import { UserPicker } from "./user-picker.tsx";

type Permission = "view" | "manage";

function permissionChoices(): { value: Permission; label: string }[] {
  return (["view", "manage"] as const).map((value) => ({ value, label: t(`members.${value}`) }));
}

interface Row {
  userId: number;
  username: string;
  /** As a member; null: access has other reasons only. */
  own: Permission | null;
  /** What else gives access. */
  throughGroup: Permission | null;
  isAdmin: boolean;
  isDisabled: boolean;
}

/** Everybody who can see a project, whatever the reason. */
async function accessRows(id: number): Promise<Row[]> {
  const { items } = await answerOf(
    api.projects[":id"].access.$get({ param: { id }, query: { pageSize: 200 } }),
  );
  return items.map(({ asMember, ...user }) => ({ ...user, own: asMember }));
}

async function memberRows(id: number): Promise<Row[]> {
  const { items } = await answerOf(
    api.groups[":id"].members.$get({ param: { id }, query: { pageSize: 200 } }),
  );
  const alone = { throughGroup: null, isAdmin: false, isDisabled: false };
  return items.map(({ permission, ...user }) => ({ ...user, ...alone, own: permission }));
}

/** What gives access besides a membership of the project itself, in words. */
function Reasons({ row: { throughGroup, isAdmin, isDisabled }, group }: { row: Row; group: ReactNode }) {
  const reasons = [
    ...(isAdmin ? [{ key: "admin", text: t("members.isAdmin") }] : []),
    ...(throughGroup ? [{ key: "group", text: rich(`members.${throughGroup}ThroughGroup`, { group }) }] : []),
    ...(isDisabled ? [{ key: "disabled", text: t("members.isDisabled") }] : []),
  ];
  return reasons.map(({ key, text }, index) => (
    <span key={key}>
      {index > 0 && t("words.listSeparator")}
      {text}
    </span>
  ));
}

/** The group of a project, with a link to the list of its members. */
function GroupOf({ projectId }: { projectId: number }) {
  const { data: project } = useQuery(projectQuery(projectId));
  const groupId = project?.groupId ?? null;
  const group = useGroups().find(({ id }) => id === groupId);
  if (group === undefined) return t("settings.unknownGroup", { id: String(groupId ?? "") });
  return (
    <Link href="/groups" className="foreign">
      {visible(group.name)}
    </Link>
  );
}

/** Members of a project or a group, with their permissions. For a project, also everybody else with access, and why. */
export function Members({ of, id }: { of: "projects" | "groups"; id: number }) {
  const isProject = of === "projects";
  const endpoint = of === "projects" ? api.projects[":id"].members : api.groups[":id"].members;
  const members = useQuery({
    queryKey: ["members", of, id],
    queryFn: () => (isProject ? accessRows(id) : memberRows(id)),
  });
  const [username, setUsername] = useState("");
  useUnsaved(username !== "");
  const [permission, setPermission] = useState<Permission>("view");
  const set = useAct(
    (member: { userId: number; permission: Permission }) =>
      answerOf(
        endpoint[":userId"].$put({
          param: { id, userId: member.userId },
          json: { permission: member.permission },
        }),
      ),
    { done: t("members.saved"), failed: t("members.saveFailed"), refresh: ["members", "runners"] },
  );
  const remove = useAct(
    async (member: { userId: number; permission: Permission }) => {
      await answerOf(endpoint[":userId"].$delete({ param: { id, userId: member.userId } }));
      tellWithUndo(t("members.removed"), () => set.mutate(member));
    },
    { failed: t("members.removeFailed"), refresh: ["members", "runners"] },
  );
  const add = useAct(
    async () => {
      const user = await answerOf(api.users["by-name"][":username"].$get({ param: { username } })).catch(
        (thrown: unknown) => {
          throw thrown instanceof ApiProblem && thrown.status === 404 ? thrown.at("username") : thrown;
        },
      );
      await set.mutateAsync({ userId: user.id, permission });
      setUsername("");
    },
    { failed: t("members.addFailed") },
  );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    add.mutate(undefined);
  };
  return (
    <>
      <Loaded query={members}>
        {(rows) =>
          rows.length === 0 ? (
            <Text size="sm" c="dimmed">
              {t("members.noneOfGroup")}
            </Text>
          ) : (
            <Table
              aria-label={t(isProject ? "members.ofProject" : "members.ofGroup")}
              className="member-rows"
            >
              <Table.Tbody>
                {rows.map(({ userId, username, own, ...row }) => (
                  <Table.Tr key={userId}>
                    <Table.Td className="foreign">{visible(username)}</Table.Td>
                    {isProject && (
                      <Table.Td className="dim">
                        <Reasons row={{ userId, username, own, ...row }} group={<GroupOf projectId={id} />} />
                      </Table.Td>
                    )}
                    <Table.Td w={130}>
                      {own !== null && (
                        <Select
                          size="xs"
                          aria-label={t("members.permissionOf", { name: visible(username) })}
                          data={permissionChoices()}
                          allowDeselect={false}
                          value={own}
                          onChange={(value) =>
                            set.mutate({ userId, permission: value === "manage" ? "manage" : "view" })
                          }
                        />
                      )}
                    </Table.Td>
                    <Table.Td w={90}>
                      {own !== null && (
                        <ForManagers>
                          <ConfirmButton
                            size="compact-sm"
                            label={t("members.remove")}
                            aria-label={t("members.removeNamed", { name: visible(username) })}
                            title={t("members.removeQuestion", { name: username })}
                            confirm={t("members.removeConfirm")}
                            isDanger
                            onConfirm={() => remove.mutateAsync({ userId, permission: own })}
                          >
                            {t(isProject ? "members.removeFromProject" : "members.removeFromGroup")}
                          </ConfirmButton>
                        </ForManagers>
                      )}
                    </Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          )
        }
      </Loaded>
      <ForManagers>
        <form onSubmit={submit}>
          <Group className="field-row" mt="md" gap="sm">
            <UserPicker value={username} error={add.errorOf("username")} onChange={setUsername} />
            <Select
              label={t("members.permission")}
              w={120}
              data={permissionChoices()}
              allowDeselect={false}
              value={permission}
              onChange={(value) => setPermission(value === "manage" ? "manage" : "view")}
            />
            <Button type="submit" loading={add.isPending}>
              {t("members.add")}
            </Button>
          </Group>
        </form>
      </ForManagers>
    </>
  );
}
