import { chatMarks } from "../chat-marks.ts";
import type { Project } from "../shapes.ts";
import { t } from "../text/text.ts";
import { Icon } from "./icon.tsx";
import { Mark } from "./mark.tsx";

type Format = Project["notify"][number]["format"];

/** The logo of a chat service, or the first letter of its name if its owner does not allow the logo. */
export function ChatSign({ format }: { format: Format }) {
  return (
    <span className="tile-sign" aria-hidden="true">
      {signOf(format)}
    </span>
  );
}

function signOf(format: Format) {
  if (format === "slipway") return <Mark size={20} />;
  if (format === "push") return <Icon name="push" />;
  if (format !== "discord" && format !== "telegram") return [...t(`notify.service_${format}`)][0];
  return (
    <svg width="18" height="18" viewBox="0 0 24 24" fill="currentColor" aria-hidden="true">
      <path d={chatMarks[format]} />
    </svg>
  );
}
