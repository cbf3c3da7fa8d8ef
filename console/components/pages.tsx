import { Group, Pagination, Text } from "@mantine/core";
import { useEffect } from "react";
import { useShowPage } from "../address.ts";
import { t } from "../text/text.ts";

/** Foot of a list: how many there are, and the way to the others. */
export function Pages({
  total,
  page,
  pageSize,
  onPage,
}: {
  total: number;
  page: number;
  pageSize: number;
  onPage: (page: number) => void;
}) {
  const pages = Math.ceil(total / pageSize);
  return (
    <Group justify="space-between" className="list-foot">
      <Text size="sm" c="dimmed" className="figures">
        {total === 0
          ? t("list.none")
          : t("list.range", {
              from: (page - 1) * pageSize + 1,
              to: Math.min(page * pageSize, total),
              total,
            })}
      </Text>
      {pages > 1 && (
        <Pagination
          size="sm"
          total={pages}
          value={page}
          onChange={onPage}
          siblings={0}
          getControlProps={(control) => ({ "aria-label": t(`list.${control}`) })}
          getItemProps={(number) => ({ "aria-label": t("list.page", { number }) })}
        />
      )}
    </Group>
  );
}

/** An address may name a page beyond the end of a list, for example after a deletion: the last page is shown. */
export function useExistingPage(
  list: { items: unknown[]; total: number; page: number; pageSize: number } | undefined,
): void {
  const show = useShowPage();
  const last =
    list === undefined || list.items.length > 0 || list.total === 0
      ? null
      : Math.ceil(list.total / list.pageSize);
  const isBeyond = last !== null && list !== undefined && list.page > last;
  useEffect(() => {
    if (isBeyond && last !== null) show(last);
  }, [isBeyond, last, show]);
}
