import { Button, Checkbox, Group as Row, TagsInput, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { useAct } from "../act.ts";
import { useTurnPage } from "../address.ts";
import { answerOf, api, ifMatch } from "../api.ts";
import { ConfirmButton } from "../components/confirm.tsx";
import { FormButton } from "../components/form-modal.tsx";
import { Icon } from "../components/icon.tsx";
import { Members } from "../components/members.tsx";
import { Empty, PageHead, Panel } from "../components/page.tsx";
import { Pages } from "../components/pages.tsx";
import { Permitted } from "../components/permission.tsx";
import { Loaded } from "../components/query.tsx";
import { useListPage } from "../list-page.ts";
import { meQuery } from "../session.ts";
import type { Group } from "../shapes.ts";
import { visible } from "../visible.ts";

export default function Groups() {
  const turnTo = useTurnPage();
  const { data: me } = useQuery(meQuery);
  const isAdmin = me?.role === "admin";
  const query = useListPage(["groups"], (page) => answerOf(api.groups.$get({ query: { page } })));
  return (
    <>
      <PageHead
        title="Groups"
        about="Projects that belong together. A member's permission holds for every project of the group."
      >
        {isAdmin && <AddGroup />}
      </PageHead>
      <Loaded query={query}>
        {({ items, total, page, pageSize }) =>
          total === 0 ? (
            <Panel>
              <Empty title="No groups yet">
                {isAdmin
                  ? "Add one when several projects share the same people."
                  : "You are no member of a group. An admin can add you to one."}
              </Empty>
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
  const remove = useAct(() => answerOf(api.groups[":id"].$delete({ param: { id: group.id } })), {
    done: `The group ${group.name} was deleted.`,
    refresh: ["groups", "projects"],
  });
  return (
    <Panel
      title={<span className="foreign">{visible(group.name)}</span>}
      action={
        <Row gap="xs">
          <Button component={Link} href={`/projects?groupId=${group.id}`} variant="default" size="compact-sm">
            Its projects
          </Button>
          {isAdmin && <GroupLabels group={group} />}
          {isAdmin && (
            <ConfirmButton
              label="Delete"
              aria-label={`Delete ${group.name}`}
              size="compact-sm"
              title={`Delete the group ${group.name}?`}
              confirm="Delete the group"
              isDanger
              onConfirm={() => remove.mutateAsync(undefined)}
            >
              Its projects stay, without a group. Permissions that came through it end.
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
  const save = useAct(
    ({ labels, revision }: { labels: string[] | null; revision: string | null }) =>
      answerOf(
        api.groups[":id"].$patch({
          param: { id: group.id },
          header: ifMatch(revision),
          json: { labels },
        }),
      ),
    { done: `The labels of ${group.name} were saved.`, refresh: ["groups"] },
  );
  return (
    <FormButton
      title={`Labels that projects of ${group.name} may request`}
      submit="Save the labels"
      label="Labels"
      button={{ size: "compact-sm", variant: "default" }}
      initial={{ isAny: group.labels === null, labels: group.labels ?? [], revision: group.revision }}
      onSubmit={({ isAny, labels, revision }, isOverwriting) =>
        save.mutateAsync({ labels: isAny ? null : labels, revision: isOverwriting ? null : revision })
      }
    >
      {({ value, set, errorOf }) => (
        <>
          <Checkbox
            label="Any label"
            checked={value.isAny}
            onChange={(event) => set({ isAny: event.currentTarget.checked })}
          />
          <TagsInput
            label="These labels"
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

function AddGroup() {
  const add = useAct((json: { name: string }) => answerOf(api.groups.$post({ json })), {
    done: ({ name }) => `The group ${name} was added.`,
    refresh: ["groups"],
  });
  return (
    <FormButton
      title="Add a group"
      submit="Add the group"
      button={{ leftSection: <Icon name="plus" size={16} /> }}
      initial={{ name: "" }}
      onSubmit={(group) => add.mutateAsync(group)}
    >
      {({ text }) => <TextInput label="Name" required data-autofocus {...text("name")} />}
    </FormButton>
  );
}
