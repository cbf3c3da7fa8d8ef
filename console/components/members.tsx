import { Button, Group, Select, Table, Text, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useAct } from "../act.ts";
import { answerOf, api } from "../api.ts";
import { tellWithUndo } from "../tell-undo.tsx";
import { t } from "../text/text.ts";
import { useUnsaved } from "../unsaved.ts";
import { visible } from "../visible.ts";
import { ConfirmButton } from "./confirm.tsx";
import { ForManagers } from "./permission.tsx";
import { Loaded } from "./query.tsx";

type Permission = "view" | "manage";

function permissionChoices(): { value: Permission; label: string }[] {
  return (["view", "manage"] as const).map((value) => ({ value, label: t(`members.${value}`) }));
}

/** Members of a project or a group, with their permissions. */
export function Members({ of, id }: { of: "projects" | "groups"; id: number }) {
  const isProject = of === "projects";
  const endpoint = of === "projects" ? api.projects[":id"].members : api.groups[":id"].members;
  const members = useQuery({
    queryKey: ["members", of, id],
    queryFn: () => answerOf(endpoint.$get({ param: { id }, query: { pageSize: 200 } })),
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
      const user = await answerOf(api.users["by-name"][":username"].$get({ param: { username } }));
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
        {({ items }) =>
          items.length === 0 ? (
            <Text size="sm" c="dimmed">
              {t(isProject ? "members.noneOfProject" : "members.noneOfGroup")}
            </Text>
          ) : (
            <Table aria-label={t(isProject ? "members.ofProject" : "members.ofGroup")}>
              <Table.Tbody>
                {items.map((member) => (
                  <Table.Tr key={member.userId}>
                    <Table.Td className="foreign">{visible(member.username)}</Table.Td>
                    <Table.Td w={130}>
                      <Select
                        size="xs"
                        aria-label={t("members.permissionOf", { name: visible(member.username) })}
                        data={permissionChoices()}
                        allowDeselect={false}
                        value={member.permission}
                        onChange={(value) =>
                          set.mutate({
                            userId: member.userId,
                            permission: value === "manage" ? "manage" : "view",
                          })
                        }
                      />
                    </Table.Td>
                    <Table.Td w={90}>
                      <ForManagers>
                        <ConfirmButton
                          size="compact-sm"
                          label={t("members.remove")}
                          aria-label={t("members.removeNamed", { name: visible(member.username) })}
                          title={t("members.removeQuestion", { name: member.username })}
                          confirm={t("members.removeConfirm")}
                          isDanger
                          onConfirm={() => remove.mutateAsync(member)}
                        >
                          {of === "projects" ? t("members.removeFromProject") : t("members.removeFromGroup")}
                        </ConfirmButton>
                      </ForManagers>
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
          <Group align="flex-end" mt="md" gap="sm">
            <TextInput
              label={t("members.user")}
              placeholder={t("members.username")}
              required
              value={username}
              onChange={(event) => setUsername(event.currentTarget.value)}
            />
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
