import { Alert, Button, Group, Skeleton, Stack, Text, Title } from "@mantine/core";
import { type ReactNode, useEffect, useRef } from "react";
import { Link } from "wouter";
import { messageOf, titleOf } from "../api.ts";
import { t } from "../text/text.ts";
import { visible } from "../visible.ts";
import { SiblingPages } from "./sibling-pages.tsx";

/** For what scrolls by itself: it must be reachable by the keyboard. */
export const reachable = { tabIndex: 0 };

/** Head of a page: its title (also of the browser's tab), what it is about, and what can be done here. */
export function PageHead({
  title,
  tab = title,
  project,
  about,
  children,
}: {
  title: ReactNode;
  tab?: ReactNode;
  /** Of which the page shows a part: the title is the trail to it. Of an environment, `parentId` is its project. */
  project?: { id: number; name: string; parentId?: number | null } | undefined;
  about?: ReactNode;
  children?: ReactNode;
}) {
  const name = project?.name;
  useEffect(() => {
    const parts = [tab, name].filter((part) => typeof part === "string");
    document.title = [...parts.map(visible), "Slipway"].join(" · ");
  }, [tab, name]);
  return (
    <>
      <header className="page-head">
        <div className="page-head-text">
          <Title order={1}>
            {project !== undefined && (
              <>
                <ProjectTrail {...project} />
                <span className="dim"> / </span>
              </>
            )}
            {title}
          </Title>
          {about !== undefined && <div className="page-about">{about}</div>}
        </div>
        {children !== undefined && <Group gap="xs">{children}</Group>}
      </header>
      <SiblingPages />
    </>
  );
}

/** A project, or a project and its environment, each as a link. */
export function ProjectTrail({
  id,
  name,
  parentId = null,
}: {
  id: number;
  name: string;
  parentId?: number | null;
}) {
  const cut = parentId === null ? -1 : name.lastIndexOf("/");
  return (
    <>
      {cut > 0 && (
        <>
          <Link href={`/projects/${parentId}`} className="foreign">
            {visible(name.slice(0, cut))}
          </Link>
          <span className="dim"> / </span>
        </>
      )}
      <Link href={`/projects/${id}`} className="foreign">
        {visible(name.slice(cut + 1))}
      </Link>
    </>
  );
}

/** For `ref` of an element with this id: an address that ends with #<id> leads to it. */
export function useAnchor<E extends HTMLElement>(id: string | undefined) {
  const anchor = useRef<E>(null);
  useEffect(() => {
    if (id !== undefined && location.hash === `#${id}`) anchor.current?.scrollIntoView();
  }, [id]);
  return anchor;
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
  const section = useAnchor<HTMLElement>(id);
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

/** Shows an error, unless the fields above it show it already. Place it after the fields: it depends on what they rendered. */
export function ActProblem({ act, title }: { act: { otherProblem: () => Error | null }; title?: string }) {
  const problem = act.otherProblem();
  return problem && <Problem problem={problem} {...(title === undefined ? {} : { title })} />;
}

/** The shape of a skeleton: list rows, text lines, charts, or a page with a heading and panels. */
type Shape = "rows" | "lines" | "plots" | "page";

/** A skeleton in the shape of the content that is loading, so that the page does not move when the content arrives. */
export function Rows({ count = 6, shape = "rows" }: { count?: number; shape?: Shape }) {
  const parts =
    shape === "page" ? ["head", "panel", "panel 2"] : Array.from({ length: count }, (_, row) => `${row}`);
  return (
    <div className="rows" data-shape={shape} aria-busy="true" role="status" aria-label={t("words.loading")}>
      {parts.map((part) => (
        <Skeleton key={part} className={part === "head" ? "rows-head" : "rows-part"} radius="sm" />
      ))}
    </div>
  );
}
