import { Button, Group as Row, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { useAct } from "../act.ts";
import { usePageNumber, useTurnPage } from "../address.ts";
import { answerOf, api } from "../api.ts";
import { ConfirmButton } from "../components/confirm.tsx";
import { FormModal } from "../components/form-modal.tsx";
import { Icon } from "../components/icon.tsx";
import { Members } from "../components/members.tsx";
import { Empty, PageHead, Panel } from "../components/page.tsx";
import { Pages } from "../components/pages.tsx";
import { Loaded } from "../components/query.tsx";
import { meQuery } from "../session.ts";
import type { Group } from "../shapes.ts";

export default function Groups() {
  const page = usePageNumber();
  const turnTo = useTurnPage();
  const { data: me } = useQuery(meQuery);
  const isAdmin = me?.role === "admin";
  const [isAdding, adding] = useDisclosure(false);
  const query = useQuery({
    queryKey: ["groups", page],
    queryFn: () => answerOf(api.groups.$get({ query: { page } })),
    placeholderData: keepPreviousData,
  });
  return (
    <>
      <PageHead
        title="Groups"
        about="Projects that belong together. A member's permission holds for every project of the group."
      >
        {isAdmin && (
          <Button leftSection={<Icon name="plus" size={16} />} onClick={adding.open}>
            Add a group
          </Button>
        )}
      </PageHead>
      <Loaded query={query}>
        {({ items, total, pageSize }) =>
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
      <AddGroup isOpen={isAdding} onClose={adding.close} />
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
      title={<span className="foreign">{group.name}</span>}
      action={
        <Row gap="xs">
          <Button component={Link} href={`/projects?groupId=${group.id}`} variant="default" size="compact-sm">
            Its projects
          </Button>
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
      <Members of="groups" id={group.id} />
    </Panel>
  );
}

function AddGroup({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  const [name, setName] = useState("");
  const add = useAct(() => answerOf(api.groups.$post({ json: { name } })), {
    done: `The group ${name} was added.`,
    refresh: ["groups"],
  });
  return (
    <FormModal
      title="Add a group"
      submit="Add the group"
      isOpen={isOpen}
      onClose={onClose}
      onSubmit={() => add.mutateAsync(undefined)}
    >
      {(errorOf) => (
        <TextInput
          label="Name"
          required
          data-autofocus
          value={name}
          error={errorOf("name")}
          onChange={(event) => setName(event.currentTarget.value)}
        />
      )}
    </FormModal>
  );
}
