import { Alert } from "@mantine/core";
import type { ReactNode } from "react";

/** What each says by its colour. Only what somebody has to do something about is amber. */
const colors = { needed: "lamp", wrong: "red", going: "tide", plain: "gray" } as const;

/** A sentence or two about what is beside or below it. */
export function Notice({
  tone = "plain",
  title,
  label,
  className,
  children,
}: {
  tone?: keyof typeof colors;
  title?: string;
  /** For one without a title. */
  label?: string;
  className?: string;
  children: ReactNode;
}) {
  return (
    <Alert
      variant="light"
      color={colors[tone]}
      role="note"
      {...(title === undefined ? {} : { title })}
      {...(label === undefined ? {} : { "aria-label": label })}
      {...(className === undefined ? {} : { className })}
      data-tone={tone}
    >
      {children}
    </Alert>
  );
}
