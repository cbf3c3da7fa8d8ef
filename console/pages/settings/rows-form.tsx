import { ActionIcon, Button, Group, Stack } from "@mantine/core";
import type { ReactNode } from "react";
import { Icon } from "../../components/icon.tsx";
import { ForManagers } from "../../components/permission.tsx";
import { SaveBar } from "../../components/save-bar.tsx";
import { useDraft } from "../../draft.ts";
import { type ProjectChange, useSaveProject } from "../../project-query.ts";

/** A setting of a project that is a list: rows are edited in place, removed and added, and saved as a whole. */
export function RowsForm<Row>({
  projectId,
  stored,
  fresh,
  changeOf,
  addLabel,
  removeLabelOf,
  isWide = false,
  children,
}: {
  projectId: number;
  stored: Row[];
  /** What an added row holds. */
  fresh: Row;
  changeOf: (rows: Row[]) => ProjectChange;
  addLabel: string;
  removeLabelOf: (row: Row) => string;
  /** A row takes much room, and wraps where there is too little. */
  isWide?: boolean;
  children: (row: Row, change: (row: Row) => void) => ReactNode;
}) {
  const draft = useDraft({ rows: stored.map((row, key) => ({ key, row })) });
  const save = useSaveProject(projectId);
  const { rows } = draft.value;
  const change = (key: number, row: Row) =>
    draft.set({ rows: rows.map((each) => (each.key === key ? { key, row } : each)) });
  const add = () =>
    draft.set({ rows: [...rows, { key: Math.max(-1, ...rows.map(({ key }) => key)) + 1, row: fresh }] });
  const submit = draft.submit(() => save.mutateAsync(changeOf(rows.map(({ row }) => row))));
  return (
    <form className="form" {...(isWide ? { style: { maxWidth: 820 } } : {})} onSubmit={submit}>
      <Stack gap={8}>
        {rows.map(({ key, row }) => (
          <Group key={key} gap={8} align="flex-start" wrap={isWide ? "wrap" : "nowrap"}>
            {children(row, (changed) => change(key, changed))}
            <ForManagers>
              <ActionIcon
                mt={4}
                variant="subtle"
                color="gray"
                aria-label={removeLabelOf(row)}
                onClick={() => draft.set({ rows: rows.filter((other) => other.key !== key) })}
              >
                <Icon name="bin" size={16} />
              </ActionIcon>
            </ForManagers>
          </Group>
        ))}
        <ForManagers>
          <div>
            <Button
              variant="default"
              size="compact-sm"
              leftSection={<Icon name="plus" size={14} />}
              onClick={add}
            >
              {addLabel}
            </Button>
          </div>
        </ForManagers>
      </Stack>
      <SaveBar isChanged={draft.isChanged} save={save} onReset={draft.reset} />
    </form>
  );
}
