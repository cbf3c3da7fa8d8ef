import { ActionIcon, Tooltip, VisuallyHidden } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import { copyTextOf } from "../copy.ts";
import { Icon } from "./icon.tsx";

const shownMs = { copied: 1600, selected: 8000 };
const said = { copied: "Copied", selected: "It is selected: press Ctrl+C (⌘C on a Mac)" };

/** A value to take away: shown whole, in the letters of code, with a button that copies it. */
export function CopyText({ value, label }: { value: string; label: string }) {
  const shown = useRef<HTMLElement>(null);
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
    <span className="copy-text">
      <code ref={shown}>{value}</code>
      <Tooltip
        label={outcome === null ? `Copy ${label}` : said[outcome]}
        {...(outcome === null ? {} : { opened: true })}
      >
        <ActionIcon variant="subtle" onClick={copy} aria-label={`Copy ${label}`}>
          <Icon name={outcome === "copied" ? "check" : "copy"} size={16} />
        </ActionIcon>
      </Tooltip>
      <VisuallyHidden role="status">{outcome !== null && said[outcome]}</VisuallyHidden>
    </span>
  );
}
