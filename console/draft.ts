import { type ChangeEvent, type FormEvent, useState } from "react";
import { tell, useAct } from "./act.ts";
import { ApiProblem, isChangedMeanwhile } from "./api.ts";
import { tellWithUndo } from "./tell-undo.tsx";
import { t } from "./text/text.ts";

/** Typed values, and the values that the server had in those fields when editing began. */
interface Edits<T> {
  typed: Partial<T>;
  base: Partial<T>;
}

/** A field that another user saved while it was being edited here. */
export interface FieldConflict {
  name: string;
  theirs: unknown;
}

/** The names of the fields that hold any text. */
export type TextName<T> = { [Name in keyof T]: string extends T[Name] ? Name : never }[keyof T] & string;

/** What a text field is given. */
export interface TextProps {
  value: string;
  error: string | undefined;
  onChange: (event: ChangeEvent<HTMLInputElement | HTMLTextAreaElement>) => void;
}

/** The names of the fields that are on or off. */
type FlagName<T> = { [Name in keyof T]: boolean extends T[Name] ? Name : never }[keyof T] & string;

/** Attempts of a save while other users save other fields at the same time. */
const maxTries = 4;

/**
 * The unsaved changes of a form. Unchanged fields show the server's current values. Only the changes are sent, with the
 * revision they are based on: changes of other users in other fields are kept, and a field that both changed is a
 * conflict, which is shown and never overwritten without confirmation.
 */
export function useDraft<Source extends { revision: string }, T extends object>({
  source,
  select,
  reread,
  save,
  done,
  refresh,
  isUndoable = true,
}: {
  source: Source;
  /** The fields of the form. */
  select: (source: Source) => T;
  reread: () => Promise<Source>;
  save: (changes: Partial<T>, revision: string) => Promise<{ revision: string }>;
  done: string;
  refresh: string[];
  /** False: the earlier values cannot be restored, because they contain what the server does not show. */
  isUndoable?: boolean;
}) {
  const [edits, setEdits] = useState<Edits<T>>({ typed: {}, base: {} });
  const stored = select(source);
  const changes = changesOf(stored, edits);
  const changeCount = Object.keys(changes).length;
  const isChanged = changeCount > 0;
  const act = useAct(
    async (sent: Edits<T>) => {
      let current = source;
      for (let tries = 1; ; tries++) {
        const fields = select(current);
        if (conflictsOf(fields, sent).length > 0) throw conflict();
        try {
          const changed = changesOf(fields, sent);
          const { revision } = await save(changed, current.revision);
          return { revision, before: valuesOf(fields, changed) };
        } catch (thrown) {
          if (!isChangedMeanwhile(thrown) || tries === maxTries) throw thrown;
          current = await reread();
        }
      }
    },
    { refresh },
  );
  const undo = useAct(
    ({ before, revision }: { before: Partial<T>; revision: string }) => save(before, revision),
    { done: t("form.undone"), refresh },
  );
  const reset = () => {
    setEdits({ typed: {}, base: {} });
    act.reset();
  };
  const send = (sent: Edits<T>) =>
    act.mutateAsync(sent).then(
      (saved) => {
        setEdits((now) => withoutSent(now, sent));
        if (isUndoable) tellWithUndo(done, () => undo.mutate(saved));
        else tell(done);
      },
      // What was refused is shown by the form; the text stays for another try.
      () => {},
    );
  const value: T = { ...stored, ...edits.typed };
  const { error, isPending } = act;
  const refused = error instanceof ApiProblem ? error : null;
  const set = (change: Partial<T>) => setEdits((before) => edited(stored, before, change));
  const setOne = (name: keyof T, typed: string | boolean) => set({ [name]: typed } as Partial<T>);
  return {
    value,
    isChanged,
    changeCount,
    isPending,
    error,
    refused,
    conflicts: conflictsOf(stored, edits),
    set,
    /** For a text field. `path` is the field's name at the server, where that differs. */
    text: (name: TextName<T>, path: string = name): TextProps => ({
      value: String(value[name]),
      error: refused?.about(path),
      onChange: ({ currentTarget }) => setOne(name, currentTarget.value),
    }),
    /** For a checkbox. */
    flag: (name: FlagName<T>) => ({
      checked: Boolean(value[name]),
      onChange: ({ currentTarget }: ChangeEvent<HTMLInputElement>) => setOne(name, currentTarget.checked),
    }),
    reset,
    submit: (event: FormEvent) => {
      event.preventDefault();
      void send(edits);
    },
    /** Overwrites the values that another user saved. */
    overwrite: () => {
      const rebased = { typed: edits.typed, base: stored };
      setEdits(rebased);
      void send(rebased);
    },
  };
}

/** How the settings of one resource are read and saved by forms over some of its fields. */
export interface SettingsForm<Source extends { revision: string }, Change> {
  source: Source;
  reread: () => Promise<Source>;
  save: (change: Change, revision: string) => Promise<{ revision: string }>;
  refresh: string[];
}

/** A form over some settings of a resource. */
export function useSettingsDraft<Source extends { revision: string }, Change, T extends object>(
  { save, ...form }: SettingsForm<Source, Change>,
  select: (source: Source) => T,
  changeOf: (changes: Partial<T>) => Change,
  { isUndoable = true } = {},
) {
  return useDraft({
    ...form,
    select,
    save: (changes, revision) => save(changeOf(changes), revision),
    done: t("form.saved"),
    isUndoable,
  });
}

function conflict(): ApiProblem {
  return new ApiProblem(412, "changed_meanwhile", t("form.conflict"));
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function edited<T extends object>(stored: T, before: Edits<T>, change: Partial<T>): Edits<T> {
  const fresh = Object.keys(change).filter((name) => !(name in before.base)) as (keyof T)[];
  const base = { ...before.base };
  for (const name of fresh) base[name] = stored[name];
  return { typed: { ...before.typed, ...change }, base };
}

/** Keeps what was typed during the save, now based on the values that were sent. */
function withoutSent<T extends object>(now: Edits<T>, sent: Edits<T>): Edits<T> {
  const names = Object.keys(now.typed) as (keyof T)[];
  const later = names.filter((name) => !isSame(now.typed[name], sent.typed[name]));
  const pick = (from: Partial<T>) =>
    Object.fromEntries(later.map((name) => [name, from[name]])) as Partial<T>;
  return { typed: pick(now.typed), base: pick({ ...now.base, ...sent.typed }) };
}

/** The fields of `from` that `names` has. */
function valuesOf<T extends object>(from: T, names: Partial<T>): Partial<T> {
  const keys = Object.keys(names) as (keyof T)[];
  return Object.fromEntries(keys.map((name) => [name, from[name]])) as Partial<T>;
}

/** The typed values that differ from the stored ones. */
function changesOf<T extends object>(stored: T, { typed }: Edits<T>): Partial<T> {
  const names = Object.keys(typed) as (keyof T)[];
  const changed = names.filter((name) => !isSame(typed[name], stored[name]));
  return Object.fromEntries(changed.map((name) => [name, typed[name]])) as Partial<T>;
}

function conflictsOf<T extends object>(stored: T, edits: Edits<T>): FieldConflict[] {
  const names = Object.keys(changesOf(stored, edits)) as (keyof T & string)[];
  return names
    .filter((name) => !isSame(edits.base[name], stored[name]))
    .map((name) => ({ name, theirs: stored[name] }));
}

/** For a form's onSubmit: saves, then shows what the server has again. */
export function submitting(save: () => Promise<unknown>, reset: () => void) {
  return async (event: FormEvent) => {
    event.preventDefault();
    // What was refused is shown by the form; the text stays for another try.
    const isSaved = await save().then(
      () => true,
      () => false,
    );
    if (isSaved) reset();
  };
}
