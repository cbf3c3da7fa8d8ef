import { Group, Pagination, Text } from "@mantine/core";

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
          ? "none"
          : `${(page - 1) * pageSize + 1}–${Math.min(page * pageSize, total)} of ${total}`}
      </Text>
      {pages > 1 && (
        <Pagination
          size="sm"
          total={pages}
          value={page}
          onChange={onPage}
          siblings={0}
          getControlProps={(control) => ({ "aria-label": `${control} page` })}
          getItemProps={(number) => ({ "aria-label": `Page ${number}` })}
        />
      )}
    </Group>
  );
}
