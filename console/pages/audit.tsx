import { Select, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { given, useAddressFilters } from "../address.ts";
import { answerOf, api } from "../api.ts";
import { List } from "../components/list.tsx";
import { Moment } from "../components/moment.tsx";
import { Empty, PageHead } from "../components/page.tsx";
import { useListPage } from "../list-page.ts";
import type { AuditEntry } from "../shapes.ts";
import { visible } from "../visible.ts";

export default function Audit() {
  const [filters, change] = useAddressFilters(["action", "userId"]);
  const query = useListPage(["audit", filters], (page) =>
    answerOf(api.audit.$get({ query: { page, pageSize: 50, ...given(filters) } })),
  );
  const users = useQuery({
    queryKey: ["users", "all"],
    queryFn: () => answerOf(api.users.$get({ query: { pageSize: 200 } })),
  });
  const people = (users.data?.items ?? []).map((user) => ({
    value: String(user.id),
    label: visible(user.username),
  }));
  return (
    <>
      <PageHead title="Audit" about="Who changed what, when and from where. Secrets never stand here." />
      <div className="filters">
        <Select
          label="Who"
          placeholder="anybody"
          clearable
          searchable
          data={people}
          value={filters.userId || null}
          onChange={(userId) => change({ userId: userId ?? "" })}
        />
        <TextInput
          label="Action"
          placeholder="webhook.save"
          value={filters.action}
          onChange={(event) => change({ action: event.currentTarget.value })}
        />
      </div>
      <List
        label="Audit log"
        query={query}
        empty={<Empty title="No such entries">Clear the filters to see everything.</Empty>}
        columns={[
          { title: "When", cell: (entry) => <Moment at={entry.at} /> },
          {
            title: "Who",
            cell: (entry) => <span className="foreign">{visible(entry.username) || "nobody"}</span>,
          },
          { title: "Action", cell: (entry) => <code>{visible(entry.action)}</code> },
          { title: "What", cell: (entry) => <span className="foreign">{visible(entry.subject)}</span> },
          { title: "Detail", cell: (entry) => <Detail entry={entry} />, visibleFrom: "md" },
          { title: "From", cell: (entry) => <code>{visible(entry.remoteIp)}</code>, visibleFrom: "lg" },
        ]}
      />
    </>
  );
}

function Detail({ entry }: { entry: AuditEntry }) {
  const text = visible(JSON.stringify(entry.detail));
  if (text === "{}") return null;
  return (
    <code className="cut" style={{ maxWidth: 190 }} title={text}>
      {text}
    </code>
  );
}
