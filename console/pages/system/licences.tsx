import { Button, Table } from "@mantine/core";
import { queryOptions, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { answerOf, api } from "../../api.ts";
import { Panel } from "../../components/page.tsx";
import { Loaded } from "../../components/query.tsx";
import { t } from "../../text/text.ts";
import { visible } from "../../visible.ts";

const licencesQuery = queryOptions({
  queryKey: ["licences"],
  queryFn: () => answerOf(api.system.licences.$get()),
});

/** The packages inside, which are loaded when somebody asks. */
export function Licences() {
  const [isOpen, setOpen] = useState(false);
  return (
    <Panel title={t("system.licences")} about={t("system.licencesAbout")} isFlush={isOpen}>
      {isOpen ? (
        <Packages />
      ) : (
        <Button variant="default" onClick={() => setOpen(true)}>
          {t("system.licencesShow")}
        </Button>
      )}
    </Panel>
  );
}

function Packages() {
  const query = useQuery(licencesQuery);
  return (
    <Loaded query={query}>
      {({ packages }) => (
        <Table aria-label={t("system.licences")} className="list-table">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{t("system.package")}</Table.Th>
              <Table.Th>{t("system.version")}</Table.Th>
              <Table.Th>{t("system.licence")}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {packages.map(({ name, version, licence }) => (
              <Table.Tr key={`${name} ${version}`}>
                <Table.Td>
                  <code>{visible(name)}</code>
                </Table.Td>
                <Table.Td>{visible(version)}</Table.Td>
                <Table.Td>{visible(licence)}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
    </Loaded>
  );
}
