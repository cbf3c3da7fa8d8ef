import { Button, type ButtonProps, Group, Modal, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { type FormEvent, type ReactNode, useLayoutEffect, useState } from "react";
import { type Outcome, useAct } from "../act.ts";
import { ApiProblem, isChangedMeanwhile, queryClient } from "../api.ts";
import type { TextName, TextProps } from "../draft.ts";
import { t } from "../text/text.ts";
import { useUnsaved } from "../unsaved.ts";
import { visible } from "../visible.ts";
import { Problem } from "./page.tsx";
import { Conflict } from "./save-bar.tsx";

interface Fields<T> {
  value: T;
  set: (change: Partial<T>) => void;
  /** What a text field is given. `path` is the field's name at the server, where that differs. */
  text: (name: TextName<T>, path?: string) => TextProps;
  errorOf: (path: string) => string | undefined;
}

interface Form<T, Output> extends Outcome<Output> {
  title: string;
  /** Words of the button: "Add the user". */
  submit: string;
  /** What the fields hold at first. */
  initial: T;
  /** Throws what the server refused. */
  onSubmit: (value: T, isOverwriting: boolean) => Promise<Output>;
  children: (fields: Fields<T>) => ReactNode;
}

/** A small form over the page. What was typed is forgotten when it closes: it may be a password. */
export function FormModal<T extends object, Output>({
  isOpen,
  onClose,
  ...form
}: Form<T, Output> & { isOpen: boolean; onClose: () => void }) {
  const [isTyped, setTyped] = useState(false);
  return (
    <Modal
      opened={isOpen}
      onClose={onClose}
      // A stray click or key press must not discard typed text: only the buttons close the dialog then.
      closeOnClickOutside={!isTyped}
      closeOnEscape={!isTyped}
      title={<Text fw={620}>{visible(form.title)}</Text>}
    >
      <ModalForm {...form} onClose={onClose} onTyped={setTyped} />
    </Modal>
  );
}

/** Holds what is typed into its fields and says at each what the server refused. The modal mounts it while it is open. */
function ModalForm<T extends object, Output>({
  submit,
  initial,
  onSubmit,
  children,
  onClose,
  onTyped,
  ...outcome
}: Form<T, Output> & { onClose: () => void; onTyped: (isTyped: boolean) => void }) {
  const [value, setValue] = useState(initial);
  const [start, setStart] = useState(initial);
  const act = useAct((isOverwriting: boolean) => onSubmit(value, isOverwriting), outcome);
  const { isPending, error: problem } = act;
  const isTyped = JSON.stringify(value) !== JSON.stringify(start);
  // A successful submit may navigate to another page.
  useUnsaved(isTyped && !isPending && !act.isSuccess);
  // A layout effect runs before the next key press can close the dialog.
  useLayoutEffect(() => {
    onTyped(isTyped);
    return () => onTyped(false);
  }, [isTyped, onTyped]);
  const submitForm = (event: FormEvent) => {
    event.preventDefault();
    // The dialog may be opened from within another form, which would take this for its own.
    event.stopPropagation();
    void send(false);
  };
  const send = (isOverwriting: boolean) =>
    act.mutateAsync(isOverwriting).then(onClose, (thrown: unknown) => {
      // The page shows outdated values.
      if (isChangedMeanwhile(thrown)) void queryClient.invalidateQueries();
    });
  const refused = problem instanceof ApiProblem ? problem : null;
  const shownPaths = new Set<string>();
  const errorOf = (path: string) => {
    shownPaths.add(path);
    return refused?.about(path);
  };
  const text: Fields<T>["text"] = (name, path = name) => ({
    value: String(value[name]),
    error: errorOf(path),
    onChange: ({ currentTarget }) => {
      const typed = currentTarget.value;
      setValue((before) => ({ ...before, [name]: typed }));
    },
  });
  // Upon what is there by then: a browser fills several fields in one go.
  const set = (change: Partial<T>) => setValue((before) => ({ ...before, ...change }));
  const fields = children({ value, set, text, errorOf });
  const isConflict = isChangedMeanwhile(problem);
  const reload = () => {
    setValue(initial);
    setStart(initial);
    act.reset();
  };
  // What stands at its field is not said once more below.
  const isSaidThere = refused?.isAbout(shownPaths) ?? false;
  return (
    <form onSubmit={submitForm}>
      <Stack gap="md">
        {fields}
        {isConflict && (
          <Conflict isPending={isPending} onReload={reload} onOverwrite={() => void send(true)} />
        )}
        {problem !== null && !isConflict && !isSaidThere && (
          <Problem title={t("form.actionFailed", { action: submit })} problem={problem} />
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {t("form.cancel")}
          </Button>
          <Button type="submit" loading={isPending}>
            {submit}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

/** A button that opens a form. It bears the form's title, unless it is given other words. */
export function FormButton<T extends object, Output>({
  label,
  button,
  ...form
}: Form<T, Output> & { label?: string; button: ButtonProps }) {
  const [isOpen, { open, close }] = useDisclosure(false);
  return (
    <>
      <Button {...button} onClick={open}>
        {label ?? form.title}
      </Button>
      <FormModal {...form} isOpen={isOpen} onClose={close} />
    </>
  );
}
