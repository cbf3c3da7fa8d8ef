import { Button, type ButtonProps, Group, Modal, Text, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { type FormEvent, type ReactNode, useState } from "react";
import { type Outcome, useAct } from "../act.ts";
import { messageOf } from "../api.ts";
import { usePageActions } from "../page-actions.ts";
import { t } from "../text/text.ts";
import { visible } from "../visible.ts";
import { Problem } from "./page.tsx";

/** A button that asks for confirmation: what the action does, and what cannot be undone. */
export function ConfirmButton({
  label,
  title,
  children,
  confirm,
  dismiss = t("form.cancel"),
  onConfirm,
  isDanger = false,
  isWide = false,
  typed,
  done,
  failed,
  refresh,
  pageAction,
  "aria-label": name,
  ...button
}: {
  label: ReactNode;
  title: string;
  children: ReactNode;
  /** Label of the button that acts: "Delete the project". */
  confirm: string;
  /** Label of the button that closes the question. */
  dismiss?: string;
  onConfirm: () => Promise<unknown>;
  isDanger?: boolean;
  /** The question has a table. */
  isWide?: boolean;
  /** Text that the user types to confirm. */
  typed?: string;
  /** Its words in the search, if that offers the action. */
  pageAction?: string;
  "aria-label"?: string;
} & Outcome<unknown> &
  Omit<ButtonProps, "children">) {
  const [isOpen, { open, close }] = useDisclosure(false);
  const isOffered = pageAction !== undefined && button.disabled !== true;
  usePageActions(isOffered ? [{ title: pageAction, run: open }] : []);
  return (
    <>
      <Button
        variant="default"
        {...(isDanger ? { c: "var(--state-failed)" } : {})}
        {...button}
        {...(name === undefined ? {} : { "aria-label": visible(name) })}
        onClick={open}
      >
        {label}
      </Button>
      <Modal
        opened={isOpen}
        onClose={close}
        title={<Text fw={620}>{visible(title)}</Text>}
        size={isWide ? "xl" : "md"}
      >
        <Question
          {...{ confirm, dismiss, onConfirm, isDanger, typed, done, failed, refresh }}
          onClose={close}
        >
          {children}
        </Question>
      </Modal>
    </>
  );
}

/** Mounted while the dialog is open, so that it starts empty each time. */
function Question({
  children,
  confirm,
  dismiss,
  onConfirm,
  isDanger,
  typed,
  onClose,
  ...outcome
}: {
  children: ReactNode;
  confirm: string;
  dismiss: string;
  onConfirm: () => Promise<unknown>;
  isDanger: boolean;
  typed: string | undefined;
  onClose: () => void;
} & Outcome<unknown>) {
  const act = useAct(onConfirm, outcome);
  const [text, setText] = useState("");
  const isConfirmed = typed === undefined || [typed, visible(typed)].includes(text.trim());
  const submit = (event: FormEvent) => {
    event.preventDefault();
    // The dialog may be opened from within a form.
    event.stopPropagation();
    if (isConfirmed && !act.isPending) act.mutateAsync(undefined).then(onClose, () => {});
  };
  return (
    <form onSubmit={submit}>
      <Text size="sm" component="div">
        {children}
      </Text>
      {typed !== undefined && (
        <TextInput
          mt="md"
          label={t("form.typeToConfirm", { text: visible(typed) })}
          autoComplete="off"
          spellCheck={false}
          data-autofocus
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
      )}
      {act.error !== null && (
        <Problem title={t("form.actionFailed", { action: confirm })} problem={messageOf(act.error)} />
      )}
      <Group justify="flex-end" mt="lg">
        <Button
          variant="default"
          onClick={onClose}
          {...(typed === undefined ? { "data-autofocus": true } : {})}
        >
          {dismiss}
        </Button>
        <Button
          type="submit"
          disabled={!isConfirmed}
          {...(isDanger ? { color: "red.8" } : {})}
          loading={act.isPending}
        >
          {confirm}
        </Button>
      </Group>
    </form>
  );
}
