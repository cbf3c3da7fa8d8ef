import { Table } from "@mantine/core";
import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useTurnPage } from "../address.ts";
import { Panel } from "./page.tsx";
import { Pages, useExistingPage } from "./pages.tsx";
import { Loaded } from "./query.tsx";

interface Column<T> {
  title: string;
  cell: (item: T) => ReactNode;
  /** Kept for screens of this width and more. */
  visibleFrom?: "sm" | "md" | "lg";
  /** On a phone it has a line of its own. */
  isWhole?: boolean;
}

interface Page<T> {
  items: T[];
  total: number;
  page: number;
  pageSize: number;
}

/** A list of the API as a table: columns, an empty state that leads on, and pages kept in the address bar. */
export function List<T extends { id: number }>({
  label,
  query,
  columns,
  empty,
  onOpen,
}: {
  label: string;
  query: UseQueryResult<Page<T>>;
  columns: Column<T>[];
  empty: ReactNode;
  /** A click anywhere in the row; the row must also hold a link, for the keyboard. */
  onOpen?: (item: T) => void;
}) {
  const turnTo = useTurnPage();
  useExistingPage(query.data);
  return (
    <Panel isFlush>
      <Loaded query={query}>
        {(page) =>
          page.total === 0 ? (
            empty
          ) : (
            <>
              <ItemTable label={label} items={page.items} columns={columns} onOpen={onOpen} />
              <Pages total={page.total} page={page.page} pageSize={page.pageSize} onPage={turnTo} />
            </>
          )
        }
      </Loaded>
    </Panel>
  );
}

function shownFrom<T>({ visibleFrom }: Column<T>) {
  return visibleFrom === undefined ? {} : { visibleFrom };
}

/** One row for each item. */
export function ItemTable<T extends { id: number | string }>({
  label,
  items,
  columns,
  onOpen,
}: {
  label: string;
  items: T[];
  columns: Column<T>[];
  onOpen?: ((item: T) => void) | undefined;
}) {
  return (
    <Table aria-label={label} className="list-table">
      <Table.Thead>
        <Table.Tr>
          {columns.map((column) => (
            <Table.Th key={column.title} {...shownFrom(column)}>
              {column.title}
            </Table.Th>
          ))}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {items.map((item) => (
          <Table.Tr key={item.id} {...(onOpen ? { className: "row-link", onClick: () => onOpen(item) } : {})}>
            {columns.map((column) => (
              <Table.Td key={column.title} data-whole={column.isWhole || undefined} {...shownFrom(column)}>
                {column.cell(item)}
              </Table.Td>
            ))}
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}
