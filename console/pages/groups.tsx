import { Button, Checkbox, Group as Row, TagsInput, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { useTurnPage } from "../address.ts";
import { answerOf, api, ifMatch } from "../api.ts";
import { AllowedDomains } from "../components/allowed-domains.tsx";
import { ConfirmButton } from "../components/confirm.tsx";
import { FormButton } from "../components/form-modal.tsx";
import { Icon } from "../components/icon.tsx";
import { Members } from "../components/members.tsx";
import { Empty, PageHead, Panel } from "../components/page.tsx";
import { Pages, useExistingPage } from "../components/pages.tsx";
import { Permitted } from "../components/permission.tsx";
import { Loaded } from "../components/query.tsx";
import { useListPage } from "../list-page.ts";
import { meQuery } from "../session.ts";
import type { Group } from "../shapes.ts";
import { t } from "../text/text.ts";
import { visible } from "../visible.ts";

export default function Groups() {
  const turnTo = useTurnPage();
  const { data: me } = useQuery(meQuery);
  const isAdmin = me?.role === "admin";
  const query = useListPage(["groups"], (page) => answerOf(api.groups.$get({ query: { page } })));
  useExistingPage(query.data);
  return (
    <>
      <PageHead title={t("groups.title")} about={t("groups.about")}>
        {isAdmin && <AddGroup />}
      </PageHead>
      <Loaded query={query}>
        {({ items, total, page, pageSize }) =>
          total === 0 ? (
            <Panel>
              <Empty title={t("groups.empty")}>{t(isAdmin ? "groups.emptyAdmin" : "groups.emptyUser")}</Empty>
            </Panel>
          ) : (
            <div className="stack">
              {items.map((group) => (
                <GroupPanel key={group.id} group={group} isAdmin={isAdmin} />
              ))}
              {total > pageSize && <Pages total={total} page={page} pageSize={pageSize} onPage={turnTo} />}
            </div>
          )
        }
      </Loaded>
    </>
  );
}

function GroupPanel({ group, isAdmin }: { group: Group; isAdmin: boolean }) {
  return (
    <Panel
      title={<span className="foreign">{visible(group.name)}</span>}
      action={
        <Row gap="xs">
          <Button component={Link} href={`/?groupId=${group.id}`} variant="default" size="compact-sm">
            {t("groups.projects")}
          </Button>
          <Button component={Link} href={`/groups/${group.id}`} variant="default" size="compact-sm">
            {t("groups.values")}
          </Button>
          {isAdmin && <GroupLabels group={group} />}
          {isAdmin && <GroupDomains group={group} />}
          {isAdmin && (
            <ConfirmButton
              label={t("words.deleteItem")}
              aria-label={t("groups.deleteOne", { name: group.name })}
              size="compact-sm"
              title={t("groups.deleteTitle", { name: group.name })}
              confirm={t("groups.deleteConfirm")}
              isDanger
              onConfirm={() => answerOf(api.groups[":id"].$delete({ param: { id: group.id } }))}
              done={t("groups.deleted", { name: group.name })}
              failed={t("groups.deleteFailed", { name: group.name })}
              refresh={["groups", "projects"]}
            >
              {t("groups.deleteText")}
            </ConfirmButton>
          )}
        </Row>
      }
    >
      <Permitted permission={group.permission}>
        <Members of="groups" id={group.id} />
      </Permitted>
    </Panel>
  );
}

/** The labels that the group's projects may request. */
function GroupLabels({ group }: { group: Group }) {
  return (
    <FormButton
      title={t("groups.labelsTitle", { name: group.name })}
      submit={t("groups.labelsSave")}
      label={t("groups.labels")}
      button={{ size: "compact-sm", variant: "default" }}
      initial={{ isAny: group.labels === null, labels: group.labels ?? [], revision: group.revision }}
      onSubmit={({ isAny, labels, revision }, isOverwriting) => {
        const header = ifMatch(isOverwriting ? null : revision);
        const json = { labels: isAny ? null : labels };
        return answerOf(api.groups[":id"].$patch({ param: { id: group.id }, header, json }));
      }}
      done={t("groups.labelsSaved", { name: group.name })}
      failed={t("groups.labelsFailed", { name: group.name })}
      refresh={["groups"]}
    >
      {({ value, set, errorOf }) => (
        <>
          <Checkbox
            label={t("groups.anyLabel")}
            checked={value.isAny}
            onChange={(event) => set({ isAny: event.currentTarget.checked })}
          />
          <TagsInput
            label={t("groups.theseLabels")}
            description={t("groups.theseLabelsHint")}
            disabled={value.isAny}
            value={value.labels}
            onChange={(labels) => set({ labels })}
            error={errorOf("labels")}
          />
        </>
      )}
    </FormButton>
  );
}

/** The domains that routes of the group's projects may have. */
function GroupDomains({ group }: { group: Group }) {
  const { allowedDomains, revision: read } = group;
  return (
    <FormButton
      title={t("groups.domainsTitle", { name: group.name })}
      submit={t("groups.domainsSave")}
      label={t("groups.domains")}
      button={{ size: "compact-sm", variant: "default" }}
      initial={{ allowedDomains, revision: read }}
      onSubmit={({ revision, ...json }, isOverwriting) => {
        const header = ifMatch(isOverwriting ? null : revision);
        return answerOf(api.groups[":id"].$patch({ param: { id: group.id }, header, json }));
      }}
      done={t("groups.domainsSaved", { name: group.name })}
      failed={t("groups.domainsFailed", { name: group.name })}
      refresh={["groups"]}
    >
      {({ value, set, errorOf }) => (
        <AllowedDomains
          domains={value.allowedDomains}
          about={t("routes.limitOfGroup")}
          errorOf={errorOf}
          onChange={(domains) => set({ allowedDomains: domains })}
        />
      )}
    </FormButton>
  );
}

function AddGroup() {
  return (
    <FormButton
      title={t("groups.add")}
      submit={t("groups.addSubmit")}
      button={{ leftSection: <Icon name="plus" size={16} /> }}
      initial={{ name: "" }}
      onSubmit={(json) => answerOf(api.groups.$post({ json }))}
      done={({ name }) => t("groups.added", { name })}
      failed={t("groups.addFailed")}
      refresh={["groups"]}
    >
      {({ text }) => <TextInput label={t("words.name")} required data-autofocus {...text("name")} />}
    </FormButton>
  );
}
