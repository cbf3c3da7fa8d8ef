import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { usePageNumber } from "./address.ts";

type IntervalOf<T> = (query: { state: { data: T | undefined } }) => number | false;

/** The page of a list that the address bar names. The one before stays in view until it has come. */
export function useListPage<T extends { total: number }>(
  key: readonly [string, ...unknown[]],
  read: (page: number) => Promise<T>,
  { refetchInterval = false }: { refetchInterval?: number | false | IntervalOf<T> } = {},
) {
  const page = usePageNumber();
  return useQuery({
    queryKey: [...key, page],
    queryFn: () => read(page),
    placeholderData: keepPreviousData,
    refetchInterval,
  });
}
