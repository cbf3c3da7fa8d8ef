import { ActionIcon, Button, Group, Stack } from "@mantine/core";
import { type FormEvent, type ReactNode, useEffect, useRef, useState } from "react";
import type { ApiProblem } from "../../api.ts";
import { Icon } from "../../components/icon.tsx";
import { ForManagers } from "../../components/permission.tsx";
import { FormFoot } from "../../components/save-bar.tsx";
import { type SettingsForm, useSettingsDraft } from "../../draft.ts";

/** A setting that is a list: rows are edited in place, removed and added, and saved as a whole. */
export function RowsForm<Row, Source extends { revision: string }, Change>({
  form: settings,
  rowsOf,
  fresh,
  changeOf,
  faultOf,
  addLabel,
  removeLabelOf,
  failure,
  label,
  labels = {},
  isWide = false,
  isUndoable = true,
  extra,
  children,
}: {
  form: SettingsForm<Source, Change>;
  rowsOf: (source: Source) => Row[];
  /** What an added row holds. */
  fresh: Row;
  changeOf: (rows: Row[]) => Change;
  /** The error of a row: invalid alone, in conflict with other rows, or refused by the server. */
  faultOf: (rows: Row[], index: number, refused: ApiProblem | null) => string | undefined;
  addLabel: string;
  removeLabelOf: (row: Row) => string;
  /** What failed, if a save is refused. */
  failure: string;
  /** Name of the list, for conflicts. */
  label: string;
  /** Names of the fields of a row, for what the server refused. */
  labels?: Readonly<Record<string, string>>;
  /** A row takes much room, and wraps where there is too little. */
  isWide?: boolean;
  /** False: removed rows cannot be restored. */
  isUndoable?: boolean;
  /** Next to the button that adds a row. */
  extra?: (rows: Row[], replace: (rows: Row[]) => void) => ReactNode;
  children: (row: Row, change: (row: Row) => void, fault: string | undefined, rows: Row[]) => ReactNode;
}) {
  const draft = useSettingsDraft(
    settings,
    (read) => ({ list: rowsOf(read).map((row, key) => ({ key, row })) }),
    ({ list = [] }) => changeOf(list.map(({ row }) => row)),
    { isUndoable },
  );
  // An unfinished row is not an error while the user is typing.
  const [isTried, setTried] = useState(false);
  const { refused } = draft;
  const { list } = draft.value;
  const rows = list.map(({ row }) => row);
  const change = (key: number, row: Row) =>
    draft.set({ list: list.map((each) => (each.key === key ? { key, row } : each)) });
  const nextKey = Math.max(-1, ...list.map(({ key }) => key)) + 1;
  const form = useRef<HTMLFormElement>(null);
  const [added, setAdded] = useState<number | null>(null);
  useEffect(() => {
    if (added !== null) form.current?.querySelector<HTMLElement>(`[data-row="${added}"] input`)?.focus();
  }, [added]);
  const add = () => {
    draft.set({ list: [...list, { key: nextKey, row: fresh }] });
    setAdded(nextKey);
  };
  const replace = (rows: Row[]) =>
    draft.set({ list: rows.map((row, index) => ({ key: nextKey + index, row })) });
  const submit = (event: FormEvent) => {
    const isFaulty = rows.some((_, index) => faultOf(rows, index, null) !== undefined);
    setTried(isFaulty);
    if (isFaulty) event.preventDefault();
    else draft.submit(event);
  };
  return (
    <form ref={form} className="form" {...(isWide ? { style: { maxWidth: 820 } } : {})} onSubmit={submit}>
      <Stack gap={8}>
        {list.map(({ key, row }, index) => (
          <Group key={key} data-row={key} gap={8} align="flex-start" wrap="nowrap">
            {children(
              row,
              (changed) => change(key, changed),
              isTried || refused !== null ? faultOf(rows, index, refused) : undefined,
              rows,
            )}
            <ForManagers>
              <ActionIcon
                mt={4}
                variant="subtle"
                color="gray"
                aria-label={removeLabelOf(row)}
                onClick={() => draft.set({ list: list.filter((other) => other.key !== key) })}
              >
                <Icon name="bin" size={16} />
              </ActionIcon>
            </ForManagers>
          </Group>
        ))}
        <ForManagers>
          <Group gap="xs">
            <Button
              variant="default"
              size="compact-sm"
              leftSection={<Icon name="plus" size={14} />}
              onClick={add}
            >
              {addLabel}
            </Button>
            {extra?.(rows, replace)}
          </Group>
        </ForManagers>
      </Stack>
      <FormFoot draft={draft} failure={failure} labels={{ ...labels, list: label }} />
    </form>
  );
}
