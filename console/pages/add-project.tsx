import { Select, TextInput } from "@mantine/core";
import { useLocation } from "wouter";
import { useAct } from "../act.ts";
import { answerOf, api } from "../api.ts";
import { FormModal } from "../components/form-modal.tsx";
import { groupChoices } from "../group-query.ts";
import type { Group } from "../shapes.ts";

interface NewProject {
  name: string;
  url: string;
  ref: string;
  groupId: number | null;
}

/** A new project: in a group that one manages, or for admins also in none. */
export function AddProject({
  isOpen,
  onClose,
  groups,
  groupId,
  isAdmin,
}: {
  isOpen: boolean;
  onClose: () => void;
  /** Those that one may choose. */
  groups: Group[];
  /** The group whose projects are looked at; empty: all. */
  groupId: string;
  isAdmin: boolean;
}) {
  const [, go] = useLocation();
  const add = useAct(
    ({ name, url, ref, groupId }: NewProject) =>
      answerOf(api.projects.$post({ json: { name, groupId, git: { url, ref } } })),
    { done: ({ name }) => `${name} was added. Next: say what its stages do.`, refresh: ["projects"] },
  );
  const onlyGroup = !isAdmin && groups.length === 1 ? groups[0] : undefined;
  const likelyGroup = groups.find(({ id }) => String(id) === groupId) ?? onlyGroup;
  const initial: NewProject = { name: "", url: "", ref: "main", groupId: likelyGroup?.id ?? null };
  return (
    <FormModal
      title="Add a project"
      submit="Add the project"
      isOpen={isOpen}
      onClose={onClose}
      initial={initial}
      onSubmit={async (fields) => {
        const project = await add.mutateAsync(fields);
        go(`/projects/${project.id}/settings/stages`);
      }}
    >
      {({ value, set, text, errorOf }) => (
        <>
          <TextInput label="Name" required data-autofocus {...text("name")} />
          <TextInput
            label="Clone address"
            placeholder="https://git.example.com/shop.git"
            required
            {...text("url", "git.url")}
          />
          <TextInput label="Branch or tag" required {...text("ref", "git.ref")} />
          {groups.length > 0 && (
            <Select
              label="Group"
              description="Its members may view or manage the project, too."
              placeholder={isAdmin ? "none" : "choose one"}
              required={!isAdmin}
              clearable={isAdmin}
              allowDeselect={false}
              searchable
              data={groupChoices(groups)}
              value={value.groupId === null ? null : String(value.groupId)}
              error={errorOf("groupId")}
              onChange={(chosen) => set({ groupId: chosen === null ? null : Number(chosen) })}
            />
          )}
        </>
      )}
    </FormModal>
  );
}
