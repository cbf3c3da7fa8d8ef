import { ActionIcon, Group, Text, Tooltip, VisuallyHidden } from "@mantine/core";
import { type RefObject, useEffect, useRef, useState } from "react";
import { copyTextOf } from "../copy.ts";
import { t } from "../text/text.ts";
import { visible } from "../visible.ts";
import { Icon } from "./icon.tsx";
import { reachable } from "./page.tsx";

const shownMs = { copied: 1600, selected: 8000 };
const said = { copied: "words.copied", selected: "words.selectedForCopy" } as const;

interface Copied {
  value: string;
  label: string;
}

/** A complete value as code, with a button that copies it. `label` names it inside a sentence: "the token". */
export function CopyText({ value, label }: Copied) {
  const shown = useRef<HTMLElement>(null);
  return (
    <span className="copy-text">
      <code ref={shown}>{visible(value)}</code>
      <CopyButton shown={shown} label={label} />
    </span>
  );
}

/** The same for several lines, under a title. */
export function CopyBlock({ title, value, label }: Copied & { title: string }) {
  const shown = useRef<HTMLPreElement>(null);
  return (
    <div>
      <Group justify="space-between">
        <Text size="sm" fw={600}>
          {title}
        </Text>
        <CopyButton shown={shown} label={label} />
      </Group>
      <pre ref={shown} className="source" {...reachable}>
        {visible(value)}
      </pre>
    </div>
  );
}

function CopyButton({ shown, label }: { shown: RefObject<HTMLElement | null>; label: string }) {
  const [outcome, setOutcome] = useState<keyof typeof said | null>(null);
  useEffect(() => {
    if (outcome === null) return;
    const timer = setTimeout(() => setOutcome(null), shownMs[outcome]);
    return () => clearTimeout(timer);
  }, [outcome]);
  const copy = async () => {
    if (shown.current) setOutcome((await copyTextOf(shown.current)) ? "copied" : "selected");
  };
  return (
    <>
      <Tooltip
        label={outcome === null ? t("words.copy", { what: label }) : t(said[outcome])}
        {...(outcome === null ? {} : { opened: true })}
      >
        <ActionIcon variant="subtle" onClick={copy} aria-label={t("words.copy", { what: label })}>
          <Icon name={outcome === "copied" ? "check" : "copy"} size={16} />
        </ActionIcon>
      </Tooltip>
      <VisuallyHidden role="status">{outcome !== null && t(said[outcome])}</VisuallyHidden>
    </>
  );
}
