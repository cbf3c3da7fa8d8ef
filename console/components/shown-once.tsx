import { Button, Group, Modal, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { t } from "../text/text.ts";
import { useUnsaved } from "../unsaved.ts";
import { CopyText } from "./copy-text.tsx";

/** A secret that the server shows once. The dialog stays open until the user confirms that it is copied. */
export function ShownOnce({
  title,
  value,
  label,
  children,
  onDone,
}: {
  title: string;
  value: string | null;
  label: string;
  children: ReactNode;
  onDone: () => void;
}) {
  useUnsaved(value !== null);
  return (
    <Modal
      opened={value !== null}
      onClose={onDone}
      closeOnClickOutside={false}
      closeOnEscape={false}
      withCloseButton={false}
      title={<Text fw={620}>{title}</Text>}
    >
      <Text size="sm" mb="sm" component="div">
        {children}
      </Text>
      {value !== null && <CopyText value={value} label={label} />}
      <Group justify="flex-end" mt="lg">
        <Button onClick={onDone}>{t("words.copiedIt")}</Button>
      </Group>
    </Modal>
  );
}
