import { Input } from "@mantine/core";
import { useId } from "react";
import type { TextProps } from "../draft.ts";
import { shellTokens } from "../shell-tokens.ts";
import { useMayManage } from "./permission.tsx";

/**
 * A field for a shell script with line numbers and colours. The coloured text lies behind a text area with transparent
 * letters, so keyboard, screen reader and undo work as in each other field; Tab leaves it.
 */
export function ScriptEditor({
  label,
  description,
  placeholder,
  minLines = 4,
  value,
  error,
  onChange,
}: TextProps & { label: string; description?: string; placeholder?: string; minLines?: number }) {
  const id = useId();
  const mayManage = useMayManage();
  const lineCount = Math.max(value.split("\n").length, minLines);
  const describedBy = [
    ...(description === undefined ? [] : [`${id}-description`]),
    ...(error === undefined ? [] : [`${id}-error`]),
  ].join(" ");
  return (
    <Input.Wrapper id={id} label={label} description={description} error={error} w="100%">
      <div className="script-editor" data-invalid={error !== undefined || undefined}>
        <div className="script-lines" aria-hidden="true">
          {Array.from({ length: lineCount }, (_, line) => line + 1).join("\n")}
        </div>
        <div className="script-text">
          <pre aria-hidden="true">
            {shellTokens(value).map(({ at, kind, text }) => (
              <span key={at} data-kind={kind}>
                {text}
              </span>
            ))}
            {"\n"}
          </pre>
          <textarea
            id={id}
            value={value}
            onChange={onChange}
            readOnly={!mayManage}
            rows={lineCount}
            wrap="off"
            spellCheck={false}
            autoCapitalize="off"
            autoComplete="off"
            aria-invalid={error !== undefined}
            {...(placeholder === undefined || !mayManage ? {} : { placeholder })}
            {...(describedBy === "" ? {} : { "aria-describedby": describedBy })}
          />
        </div>
      </div>
    </Input.Wrapper>
  );
}
