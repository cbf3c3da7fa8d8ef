import { useQuery } from "@tanstack/react-query";
import { PageHead } from "../components/page.tsx";
import { Permitted } from "../components/permission.tsx";
import { LoadedPage } from "../components/query.tsx";
import { groupForm, groupQuery } from "../group-query.ts";
import { t } from "../text/text.ts";
import { visible } from "../visible.ts";
import { SecretSettings } from "./settings/secrets.tsx";
import { VariableSettings } from "./settings/variables.tsx";

/** What all projects of a group have: its variables and secrets. */
export default function GroupPage({ id }: { id: number }) {
  const query = useQuery(groupQuery(id));
  const list = { href: "/groups", label: t("groups.title") };
  return (
    <LoadedPage query={query} title={t("groups.title")} list={list}>
      {(group) => (
        <>
          <PageHead title={visible(group.name)} about={t("groups.valuesAbout")} />
          <Permitted permission={group.permission}>
            <div className="stack">
              <VariableSettings form={groupForm(group)} about={t("groups.variablesAbout")} />
              <SecretSettings
                owner={{ of: "groups", id }}
                secrets={group.secrets}
                usual="deploy"
                about={t("variables.secretsAbout")}
              />
            </div>
          </Permitted>
        </>
      )}
    </LoadedPage>
  );
}
