import { Button, Group, Modal, Text } from "@mantine/core";
import { t } from "../text/text.ts";
import { useLeaveQuestion } from "../unsaved.ts";

/** Dialog that is shown before the user leaves a page with unsaved changes. */
export function LeaveQuestion() {
  const { isAsked, stay, leave } = useLeaveQuestion();
  return (
    <Modal opened={isAsked} onClose={stay} zIndex={400} title={<Text fw={620}>{t("app.leaveTitle")}</Text>}>
      <Text size="sm">{t("app.leaveText")}</Text>
      <Group justify="flex-end" mt="lg">
        <Button variant="default" onClick={stay} data-autofocus>
          {t("app.leaveStay")}
        </Button>
        <Button color="red.8" onClick={leave}>
          {t("app.leaveGo")}
        </Button>
      </Group>
    </Modal>
  );
}
