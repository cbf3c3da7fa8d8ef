import { Button, Group, Modal, Text } from "@mantine/core";
import { useLeaveQuestion } from "../unsaved.ts";

/** Dialog that is shown before the user leaves a page with unsaved changes. */
export function LeaveQuestion() {
  const { isAsked, stay, leave } = useLeaveQuestion();
  return (
    <Modal opened={isAsked} onClose={stay} zIndex={400} title={<Text fw={620}>Leave without saving?</Text>}>
      <Text size="sm">Your changes on this page are not saved. They are lost if you leave.</Text>
      <Group justify="flex-end" mt="lg">
        <Button variant="default" onClick={stay} data-autofocus>
          Stay here
        </Button>
        <Button color="red.8" onClick={leave}>
          Leave without saving
        </Button>
      </Group>
    </Modal>
  );
}
