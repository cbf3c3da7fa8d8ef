import { Button, Group } from "@mantine/core";
import type { UseMutationResult } from "@tanstack/react-query";
import { Problem } from "./page.tsx";
import { ForManagers } from "./permission.tsx";

/** Foot of a settings form: saves when something was changed, and says what the server refused. */
export function SaveBar({
  isChanged,
  save,
  onReset,
}: {
  isChanged: boolean;
  save: Pick<UseMutationResult<unknown, Error, never>, "isPending" | "isError" | "error">;
  onReset: () => void;
}) {
  return (
    <ForManagers>
      {save.isError && <Problem problem={save.error} />}
      <Group gap="sm">
        <Button type="submit" disabled={!isChanged} loading={save.isPending}>
          Save
        </Button>
        {isChanged && (
          <Button variant="subtle" onClick={onReset}>
            Discard the changes
          </Button>
        )}
      </Group>
    </ForManagers>
  );
}
