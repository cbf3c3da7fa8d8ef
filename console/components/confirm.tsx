import { Button, type ButtonProps, Group, Modal, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { type ReactNode, useState } from "react";
import { messageOf } from "../api.ts";
import { visible } from "../visible.ts";
import { Problem } from "./page.tsx";

/** A button whose act is asked about first: what it does, and what cannot be undone. */
export function ConfirmButton({
  label,
  title,
  children,
  confirm,
  onConfirm,
  isDanger = false,
  "aria-label": name,
  ...button
}: {
  label: ReactNode;
  title: string;
  children: ReactNode;
  /** Words of the button that does it: "Reset the key". */
  confirm: string;
  onConfirm: () => Promise<unknown>;
  isDanger?: boolean;
  "aria-label"?: string;
} & Omit<ButtonProps, "children">) {
  const [isOpen, { open, close }] = useDisclosure(false);
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const act = async () => {
    setBusy(true);
    setProblem(null);
    try {
      await onConfirm();
      close();
    } catch (thrown) {
      setProblem(messageOf(thrown));
    } finally {
      setBusy(false);
    }
  };
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
      <Modal opened={isOpen} onClose={close} title={<Text fw={620}>{visible(title)}</Text>}>
        <Text size="sm" component="div">
          {children}
        </Text>
        {problem !== null && <Problem problem={problem} />}
        <Group justify="flex-end" mt="lg">
          <Button variant="default" onClick={close} data-autofocus>
            Cancel
          </Button>
          <Button {...(isDanger ? { color: "red.8" } : {})} loading={isBusy} onClick={act}>
            {confirm}
          </Button>
        </Group>
      </Modal>
    </>
  );
}
