import { Button, Group, Modal, Stack, Text } from "@mantine/core";
import { type FormEvent, type ReactNode, useState } from "react";
import { ApiProblem } from "../api.ts";
import { Problem } from "./page.tsx";

/** A small form over the page. `onSubmit` throws what the server refused; each field asks for its own error line. */
export function FormModal({
  title,
  submit,
  isOpen,
  onClose,
  onSubmit,
  children,
}: {
  title: string;
  /** Words of the button: "Add the user". */
  submit: string;
  isOpen: boolean;
  onClose: () => void;
  onSubmit: () => Promise<unknown>;
  children: (errorOf: (field: string) => string | undefined) => ReactNode;
}) {
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);
  const close = () => {
    setProblem(null);
    onClose();
  };
  const send = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    try {
      await onSubmit();
      close();
    } catch (thrown) {
      setProblem(thrown);
    } finally {
      setBusy(false);
    }
  };
  const errorOf = (field: string) => (problem instanceof ApiProblem ? problem.about(field) : undefined);
  return (
    <Modal opened={isOpen} onClose={close} title={<Text fw={620}>{title}</Text>}>
      <form onSubmit={send}>
        <Stack gap="md">
          {children(errorOf)}
          {problem !== null && <Problem problem={problem} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              Cancel
            </Button>
            <Button type="submit" loading={isBusy}>
              {submit}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
