import { Table, Text } from "@mantine/core";
import { Link } from "wouter";
import { Panel } from "../../components/page.tsx";
import type { Project } from "../../shapes.ts";
import { rich } from "../../text/rich.ts";
import { t } from "../../text/text.ts";
import { visible } from "../../visible.ts";

/** The plain variables of an environment, its own and those of its project, with the way to where each is changed. */
export function EnvironmentVariables({ project }: { project: Project }) {
  const { parentId, environment, env, name: wholeName } = project;
  const own = environment?.name ?? "";
  const parent = visible(wholeName.slice(0, -own.length - 1));
  const placeOf = (name: string) =>
    Object.hasOwn(environment?.env ?? {}, name)
      ? { section: "environments", owner: own }
      : { section: "variables", owner: parent };
  return (
    <>
      <p className="note">
        {rich("environments.ofProject", {
          project: <Link href={`/projects/${parentId}/settings/environments`}>{parent}</Link>,
        })}
      </p>
      <Panel title={t("variables.title")}>
        {Object.keys(env).length === 0 ? (
          <Text size="sm" c="dimmed">
            {t("words.none")}
          </Text>
        ) : (
          <Table aria-label={t("variables.title")} maw={820}>
            <Table.Tbody>
              {Object.entries(env).map(([name, value]) => (
                <Table.Tr key={name}>
                  <Table.Td>
                    <code className="secret-name">{visible(name)}</code>
                  </Table.Td>
                  <Table.Td className="foreign">{visible(value)}</Table.Td>
                  <Table.Td>
                    <Link href={`/projects/${parentId}/settings/${placeOf(name).section}`}>
                      {t("environments.changeIn", { owner: placeOf(name).owner })}
                    </Link>
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        )}
      </Panel>
    </>
  );
}
