import { Alert, Button, Group, Text } from "@mantine/core";
import { type ReactNode, useEffect, useRef } from "react";
import { ApiProblem } from "../api.ts";
import type { FieldConflict } from "../draft.ts";
import { t } from "../text/text.ts";
import { useUnsavedForm, useUnsavedForms } from "../unsaved.ts";
import { visible } from "../visible.ts";
import { Problem } from "./page.tsx";
import { ForManagers } from "./permission.tsx";

/** The parts of a draft that the footer of a form uses. */
interface Saved {
  changeCount: number;
  isPending: boolean;
  error: unknown;
  conflicts: FieldConflict[];
  reset: () => void;
  overwrite: () => void;
}

/**
 * Last element of a settings form. Shows what the server refused, and connects the form with the bar of the page, which
 * has the buttons.
 */
export function FormFoot({
  draft,
  failure,
  labels,
}: {
  draft: Saved;
  /** What failed: "Couldn't save the stages". */
  failure: string;
  /** Names of the fields, for conflicts. */
  labels: Readonly<Record<string, string>>;
}) {
  const { changeCount, isPending, error, conflicts, reset, overwrite } = draft;
  const submit = useRef<HTMLInputElement>(null);
  const isConflict = conflicts.length > 0;
  useUnsavedForm({
    count: changeCount,
    isSaving: isPending,
    save: () => submit.current?.form?.requestSubmit(),
    discard: reset,
  });
  useEffect(() => {
    if (error !== null) submit.current?.form && showFault(submit.current.form);
  }, [error]);
  return (
    <ForManagers>
      {/* With it, Enter in a text field saves. */}
      <input ref={submit} type="submit" hidden />
      {isConflict && (
        <Conflict isPending={isPending} onReload={reset} onOverwrite={overwrite}>
          {conflicts.map(({ name, theirs }) => (
            <div key={name}>
              {t("form.theirValue", { field: labels[name] ?? name })}{" "}
              <code className="foreign">{theirText(theirs)}</code>
            </div>
          ))}
        </Conflict>
      )}
      {error !== null && !isConflict && !isTold(error) && (
        <Problem title={failure} problem={inWordsOf(error, labels)} />
      )}
    </ForManagers>
  );
}

/** Each fault is at its field: the fields of a form come before its foot. */
function isTold(error: unknown): boolean {
  return error instanceof ApiProblem && error.fields.length > 0 && error.untold.length === 0;
}

/** What no field says, with the labels of the form in place of the names of the fields. */
function inWordsOf(error: unknown, labels: Readonly<Record<string, string>>): unknown {
  if (!(error instanceof ApiProblem) || error.fields.length === 0) return error;
  const faults = error.untold.map(({ field, message }) => {
    const label = labels[field] ?? labels[field.slice(field.lastIndexOf(".") + 1)] ?? field;
    // Of a list, which entry.
    const [, place] = /^\w+\.(\d+)\./.exec(field) ?? [];
    const named = place === undefined ? label : t("form.entry", { number: Number(place) + 1, field: label });
    return `${named} ${message}`;
  });
  return t("words.faultSentence", { faults: faults.join(t("words.faultSeparator")) });
}

/** Leads to the refused field or, if there is none, to the message. */
function showFault(form: HTMLFormElement): void {
  const field = form.querySelector<HTMLElement>("[aria-invalid=true]");
  if (field) field.focus();
  else form.querySelector("[role=alert]")?.scrollIntoView({ block: "center" });
}

/** Bar at the bottom of the page: saves or discards the changes of all forms on it. */
export function SaveBar() {
  const forms = useUnsavedForms();
  if (forms.length === 0) return null;
  const count = forms.reduce((sum, form) => sum + form.count, 0);
  return (
    <section className="save-bar" aria-label={t("form.unsavedChanges")}>
      <Text size="sm" fw={600} role="status">
        {t("form.unsaved", { count })}
      </Text>
      <Group gap="xs" wrap="nowrap">
        <Button
          variant="default"
          onClick={() => {
            for (const form of forms) form.discard();
          }}
        >
          {t("form.discard")}
        </Button>
        <Button
          loading={forms.some(({ isSaving }) => isSaving)}
          onClick={() => {
            for (const form of forms) form.save();
          }}
        >
          {t("form.save")}
        </Button>
      </Group>
    </section>
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
  children?: ReactNode;
}) {
  return (
    <Alert color="lamp" variant="light" title={t("form.conflict")} role="alert">
      <Text size="sm" component="div">
        {t("form.conflictHint")} {children}
      </Text>
      <Group gap="sm" mt="sm">
        <Button variant="default" onClick={onReload}>
          {t("form.takeTheirs")}
        </Button>
        <Button color="red.8" loading={isPending} onClick={onOverwrite}>
          {t("form.overwrite")}
        </Button>
      </Group>
    </Alert>
  );
}

const maxTextLength = 200;

function theirText(value: unknown): string {
  const text = typeof value === "string" ? value : (scriptsIn(value) ?? JSON.stringify(value) ?? "");
  return visible(text.length > maxTextLength ? `${text.slice(0, maxTextLength)}…` : text) || t("form.empty");
}

/** Of steps, people recognise the scripts. */
function scriptsIn(value: unknown): string | null {
  const scripts = Array.isArray(value) ? value.map((step) => (step as { script?: unknown }).script) : [];
  return scripts.some((script) => typeof script === "string") ? scripts.join("\n") : null;
}
