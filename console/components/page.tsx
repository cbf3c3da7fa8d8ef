import { Alert, Button, Group, Skeleton, Stack, Text, Title } from "@mantine/core";
import { type ReactNode, useEffect, useRef } from "react";
import { messageOf, titleOf } from "../api.ts";
import { t } from "../text/text.ts";
import { visible } from "../visible.ts";

/** For what scrolls by itself: it must be reachable by the keyboard. */
export const reachable = { tabIndex: 0 };

/** Head of a page: its title (also of the browser's tab), what it is about, and what can be done here. */
export function PageHead({
  title,
  tab = title,
  about,
  children,
}: {
  title: ReactNode;
  tab?: ReactNode;
  about?: ReactNode;
  children?: ReactNode;
}) {
  useEffect(() => {
    document.title = typeof tab === "string" ? `${visible(tab)} · Slipway` : "Slipway";
  }, [tab]);
  return (
    <header className="page-head">
      <div className="page-head-text">
        <Title order={1}>{title}</Title>
        {about !== undefined && <div className="page-about">{about}</div>}
      </div>
      {children !== undefined && <Group gap="xs">{children}</Group>}
    </header>
  );
}

/** A titled section on a surface of its own. An address that ends with #<id> leads to it. */
export function Panel({
  id,
  title,
  about,
  action,
  children,
  isFlush = false,
}: {
  id?: string;
  title?: ReactNode;
  about?: ReactNode;
  action?: ReactNode;
  children: ReactNode;
  /** The content touches the edges: tables and logs. */
  isFlush?: boolean;
}) {
  const section = useRef<HTMLElement>(null);
  useEffect(() => {
    if (id !== undefined && location.hash === `#${id}`) section.current?.scrollIntoView();
  }, [id]);
  return (
    <section ref={section} id={id} className="panel" data-flush={isFlush || undefined}>
      {title !== undefined && (
        <div className="panel-head">
          <div>
            <Title order={2}>{title}</Title>
            {about !== undefined && (
              <Text size="sm" c="dimmed">
                {about}
              </Text>
            )}
          </div>
          {action}
        </div>
      )}
      <div className="panel-body">{children}</div>
    </section>
  );
}

/** Nothing here yet: says why, and what to do next. */
export function Empty({
  title,
  children,
  action,
}: {
  title: string;
  children?: ReactNode;
  action?: ReactNode;
}) {
  return (
    <Stack align="center" gap={6} className="empty">
      <svg width="72" height="40" viewBox="0 0 72 40" aria-hidden="true">
        <path d="M4 22 68 35" stroke="var(--line-strong)" strokeWidth="2.5" strokeLinecap="round" />
        <path d="M20 25v9M40 29v7" stroke="var(--line-strong)" strokeWidth="2.5" strokeLinecap="round" />
      </svg>
      <Text fw={600}>{title}</Text>
      {children !== undefined && (
        <Text size="sm" c="dimmed" ta="center" maw={460} component="div">
          {children}
        </Text>
      )}
      {action}
    </Stack>
  );
}

/** What failed and why. */
export function Problem({
  problem,
  title = titleOf(problem),
  onRetry,
}: {
  problem: unknown;
  /** What failed. */
  title?: string;
  onRetry?: () => void;
}) {
  return (
    <Alert color="red" variant="light" title={title} role="alert" className="problem">
      <Group justify="space-between" gap="sm">
        <Text size="sm">{visible(messageOf(problem))}</Text>
        {onRetry && (
          <Button size="compact-sm" variant="default" onClick={onRetry}>
            {t("words.tryAgain")}
          </Button>
        )}
      </Group>
    </Alert>
  );
}

/** Holds the place of rows that are on their way, so that nothing jumps when they arrive. */
export function Rows({ count = 6 }: { count?: number }) {
  return (
    <div className="rows" aria-busy="true" role="status" aria-label={t("words.loading")}>
      {Array.from({ length: count }, (_, row) => `row ${row}`).map((row) => (
        <Skeleton key={row} height={18} radius="sm" />
      ))}
    </div>
  );
}
