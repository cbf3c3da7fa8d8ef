import { Button, Group } from "@mantine/core";
import { tell } from "./act.ts";
import { t } from "./text/text.ts";
import { visible } from "./visible.ts";

/** Time to notice a mistake. */
const shownMs = 10_000;

/** A notification about a change that can be undone. */
export function tellWithUndo(message: string, undo: () => void): void {
  tell(
    <Group justify="space-between" wrap="nowrap">
      <span>{visible(message)}</span>
      <Button size="compact-sm" variant="default" onClick={undo}>
        {t("form.undo")}
      </Button>
    </Group>,
    shownMs,
  );
}
