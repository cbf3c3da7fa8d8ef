import { ActionIcon, CopyButton, Tooltip } from "@mantine/core";
import { Icon } from "./icon.tsx";

/** A value to take away: shown whole, in the letters of code, with a button that copies it. */
export function CopyText({ value, label }: { value: string; label: string }) {
  return (
    <span className="copy-text">
      <code>{value}</code>
      <CopyButton value={value} timeout={1600}>
        {({ copied, copy }) => (
          <Tooltip label={copied ? "Copied" : `Copy ${label}`}>
            <ActionIcon variant="subtle" onClick={copy} aria-label={`Copy ${label}`}>
              <Icon name={copied ? "check" : "copy"} size={16} />
            </ActionIcon>
          </Tooltip>
        )}
      </CopyButton>
    </span>
  );
}
