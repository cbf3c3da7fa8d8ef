import { Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { answerOf, api } from "../../api.ts";
import { Panel } from "../../components/page.tsx";
import { Loaded } from "../../components/query.tsx";
import { t } from "../../text/text.ts";
import { visible } from "../../visible.ts";
import { scopeTitle } from "./secrets.tsx";

/** What a project has of its group, and what of its own hides it. */
export function InheritedValues({ projectId }: { projectId: number }) {
  const inherited = useQuery({
    queryKey: ["project", projectId, "inherited"],
    queryFn: () => answerOf(api.projects[":id"].inherited.$get({ param: { id: projectId } })),
  });
  return (
    <Panel title={t("variables.inherited")} about={t("variables.inheritedAbout")}>
      <Loaded query={inherited}>
        {({ group, variables, secrets }) =>
          group === null || variables.length + secrets.length === 0 ? (
            <Text size="sm" c="dimmed">
              {t("variables.inheritedNone")}
            </Text>
          ) : (
            <Table aria-label={t("variables.inherited")} maw={820}>
              <Table.Tbody>
                {variables.map(({ name, value, hiddenBy }) => (
                  <Inherited key={`variable ${name}`} {...{ name, hiddenBy, group }}>
                    <span className="foreign">{visible(value)}</span>
                  </Inherited>
                ))}
                {secrets.map(({ name, scope, hiddenBy }) => (
                  <Inherited key={`secret ${name}`} {...{ name, hiddenBy, group }}>
                    {t("variables.inheritedSecret", { stages: scopeTitle(scope) })}
                  </Inherited>
                ))}
              </Table.Tbody>
            </Table>
          )
        }
      </Loaded>
    </Panel>
  );
}

function Inherited({
  name,
  group,
  hiddenBy,
  children,
}: {
  name: string;
  group: { name: string };
  hiddenBy: "variable" | "secret" | null;
  children: ReactNode;
}) {
  return (
    <Table.Tr {...(hiddenBy === null ? {} : { c: "dimmed" })}>
      <Table.Td>
        <code className="secret-name">{name}</code>
      </Table.Td>
      <Table.Td>{children}</Table.Td>
      <Table.Td>
        {hiddenBy === null
          ? t("variables.fromGroup", { group: visible(group.name) })
          : t(`variables.hiddenBy_${hiddenBy}`, { group: visible(group.name) })}
      </Table.Td>
    </Table.Tr>
  );
}
