import { Title } from "@mantine/core";
import type { ReactNode } from "react";

/** What belongs to one idea, under its name. */
export function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section aria-label={title}>
      <Title order={2}>{title}</Title>
      {children}
    </section>
  );
}

/** Small things beside each other. */
export function Line({ children }: { children: ReactNode }) {
  return <div className="review-line">{children}</div>;
}
