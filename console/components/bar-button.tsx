import { Button } from "@mantine/core";
import type { ReactNode } from "react";
import { Icon, type IconName } from "./icon.tsx";

/** A button in the bar above a log. */
export function BarButton({
  label,
  icon,
  isPressed,
  isDisabled = false,
  title,
  onClick,
  children,
}: {
  label?: string;
  icon?: IconName;
  isPressed?: boolean;
  isDisabled?: boolean;
  title?: string;
  onClick: () => void;
  children: ReactNode;
}) {
  return (
    <Button
      size="compact-sm"
      variant="subtle"
      onClick={onClick}
      disabled={isDisabled}
      {...(label === undefined ? {} : { "aria-label": label })}
      {...(title === undefined ? {} : { title })}
      {...(icon === undefined ? {} : { leftSection: <Icon name={icon} size={14} /> })}
      {...(isPressed === undefined ? {} : { "aria-pressed": isPressed })}
    >
      {children}
    </Button>
  );
}
