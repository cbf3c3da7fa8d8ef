import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Problem, Rows } from "./page.tsx";

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
  if (query.isError) return <Problem problem={query.error} onRetry={() => void query.refetch()} />;
  return <>{placeholder}</>;
}
