import { Button } from "@mantine/core";
import { queryOptions, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { answerOf, api } from "../../api.ts";
import { ItemTable } from "../../components/list.tsx";
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
        <ItemTable
          label={t("system.licences")}
          items={packages.map((each) => ({ ...each, id: `${each.name} ${each.version}` }))}
          columns={[
            { title: t("system.package"), cell: ({ name }) => <code>{visible(name)}</code> },
            { title: t("system.version"), cell: ({ version }) => visible(version) },
            { title: t("system.licence"), cell: ({ licence }) => visible(licence) },
          ]}
        />
      )}
    </Loaded>
  );
}
