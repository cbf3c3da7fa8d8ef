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
  query: Pick<UseQueryResult<T>, "data" | "isError" | "error"> & { refetch: () => unknown };
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

/** The page of one resource. While it loads, the page has its heading; if it cannot be loaded, also a link to the list. */
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
  return (
    <>
      {query.data === undefined && (
        <PageHead
          title={title}
          {...(query.isError ? { about: <Link href={list.href}>{list.label}</Link> } : {})}
        />
      )}
      <Loaded query={query} placeholder={<Rows shape="page" />}>
        {children}
      </Loaded>
    </>
  );
}
