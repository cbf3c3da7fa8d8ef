/** One page of a list, newest first unless said otherwise. */
export interface Page<T> {
  items: T[];
  /** Exact up to a limit of each list, which avoids a full scan. */
  total: number;
  page: number;
  pageSize: number;
}

export interface PageRequest {
  /** From 1. */
  page: number;
  /** At most 200. */
  pageSize: number;
}
