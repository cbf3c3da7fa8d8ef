import { Alert, Button, Group, Text } from "@mantine/core";
import type { FieldConflict } from "../draft.ts";
import { visible } from "../visible.ts";
import { Problem } from "./page.tsx";
import { ForManagers } from "./permission.tsx";

/** The parts of a draft that the footer of a form uses. */
interface Saved {
  isChanged: boolean;
  isPending: boolean;
  error: unknown;
  conflicts: FieldConflict[];
  reset: () => void;
  overwrite: () => void;
}

/** Footer of a settings form: saves changes, and shows what the server refused. */
export function SaveBar({ draft }: { draft: Saved }) {
  const { isChanged, isPending, error, conflicts, reset, overwrite } = draft;
  const isConflict = conflicts.length > 0;
  return (
    <ForManagers>
      {isConflict && (
        <Conflict isPending={isPending} onReload={reset} onOverwrite={overwrite}>
          {conflicts.map(({ name, theirs }) => (
            <div key={name}>
              {wordsOf(name)} is now <code className="foreign">{theirText(theirs)}</code>
            </div>
          ))}
        </Conflict>
      )}
      {error !== null && !isConflict && <Problem problem={error} />}
      {!isConflict && (
        <Group gap="sm">
          <Button type="submit" disabled={!isChanged} loading={isPending}>
            Save
          </Button>
          {isChanged && (
            <Button variant="subtle" onClick={reset}>
              Discard the changes
            </Button>
          )}
        </Group>
      )}
    </ForManagers>
  );
}

/** Another user saved the same field first: the user reloads or overwrites. */
export function Conflict({
  isPending,
  onReload,
  onOverwrite,
  children,
}: {
  isPending: boolean;
  onReload: () => void;
  onOverwrite: () => void;
  children?: React.ReactNode;
}) {
  return (
    <Alert color="lamp" variant="light" title="Somebody else saved this meanwhile" role="alert">
      <Text size="sm" component="div">
        Your changes are not saved. {children}
      </Text>
      <Group gap="sm" mt="sm">
        <Button variant="default" onClick={onReload}>
          Reload: drop my changes
        </Button>
        <Button color="red.8" loading={isPending} onClick={onOverwrite}>
          Overwrite with mine
        </Button>
      </Group>
    </Alert>
  );
}

/** `branchFilter` → `branch filter`. */
function wordsOf(name: string): string {
  return name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase();
}

const maxTextLength = 200;

function theirText(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  return visible(text.length > maxTextLength ? `${text.slice(0, maxTextLength)}…` : text) || "empty";
}
