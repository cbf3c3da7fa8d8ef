import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { t } from "../text/text.ts";
import { PageHead, Problem, Rows } from "./page.tsx";

/** The three faces of a query: on its way, failed, there. What is already there stays while it is fetched again. */
export function Loaded<T>({
  query,
  children,
  placeholder = <Rows />,
}: {
  query: UseQueryResult<T>;
  children: (data: T) => ReactNode;
  placeholder?: ReactNode;
}) {
  if (query.data !== undefined) return <>{children(query.data)}</>;
  if (query.isError) {
    const { error, refetch } = query;
    return <Problem title={t("words.loadFailed")} problem={error} onRetry={() => void refetch()} />;
  }
  return <>{placeholder}</>;
}

/** The page of one resource. If it cannot be loaded, the page still has its heading and a link to the list. */
export function LoadedPage<T>({
  query,
  title,
  list,
  children,
}: {
  query: UseQueryResult<T>;
  title: string;
  list: { href: string; label: string };
  children: (data: T) => ReactNode;
}) {
  const hasFailed = query.isError && query.data === undefined;
  return (
    <>
      {hasFailed && <PageHead title={title} about={<Link href={list.href}>{list.label}</Link>} />}
      <Loaded query={query}>{children}</Loaded>
    </>
  );
}
