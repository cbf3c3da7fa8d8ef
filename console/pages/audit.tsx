import { TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { given, useAddressFilters } from "../address.ts";
import { answerOf, api } from "../api.ts";
import { actionName } from "../audit-name.ts";
import { AuditDetail, AuditSubject } from "../components/audit-detail.tsx";
import { List } from "../components/list.tsx";
import { Moment } from "../components/moment.tsx";
import { Empty, PageHead } from "../components/page.tsx";
import { Picker } from "../components/picker.tsx";
import { useListPage } from "../list-page.ts";
import { t } from "../text/text.ts";
import { visible } from "../visible.ts";

export default function Audit() {
  const [filters, change] = useAddressFilters(["action", "userId"]);
  const query = useListPage(["audit", filters], (page) =>
    answerOf(api.audit.$get({ query: { page, pageSize: 50, ...given(filters) } })),
  );
  return (
    <>
      <PageHead title={t("audit.title")} about={t("audit.about")} />
      <div className="filters">
        <UserFilter value={filters.userId} onChange={(userId) => change({ userId })} />
        <TextInput
          label={t("audit.action")}
          placeholder="webhook.save"
          value={filters.action}
          onChange={(event) => change({ action: event.currentTarget.value })}
        />
      </div>
      <List
        label={t("audit.title")}
        query={query}
        empty={<Empty title={t("audit.empty")}>{t("audit.emptyHint")}</Empty>}
        columns={[
          { title: t("audit.when"), cell: (entry) => <Moment at={entry.at} /> },
          {
            title: t("audit.who"),
            cell: (entry) => <span className="foreign">{visible(entry.username) || t("audit.system")}</span>,
          },
          {
            title: t("audit.action"),
            cell: (entry) => <span title={visible(entry.action)}>{actionName(entry.action)}</span>,
          },
          { title: t("audit.what"), cell: (entry) => <AuditSubject entry={entry} /> },
          { title: t("audit.detail"), cell: (entry) => <AuditDetail entry={entry} />, isWhole: true },
          {
            title: t("audit.address"),
            cell: (entry) => <code>{visible(entry.remoteIp)}</code>,
            visibleFrom: "lg",
          },
        ]}
      />
    </>
  );
}

function UserFilter({ value, onChange }: { value: string; onChange: (userId: string) => void }) {
  const users = useQuery({
    queryKey: ["users", "all"],
    queryFn: () => answerOf(api.users.$get({ query: { pageSize: 200 } })),
  });
  const choices = (users.data?.items ?? []).map(({ id, username }) => ({
    value: String(id),
    label: visible(username),
  }));
  return (
    <Picker
      label={t("audit.who")}
      placeholder={t("audit.anybody")}
      clearable
      choices={choices}
      value={value}
      onChange={onChange}
    />
  );
}
