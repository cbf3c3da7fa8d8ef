import { Button, Checkbox, Group, Modal, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import type { InferResponseType } from "hono/client";
import { useState } from "react";
import { complain, tell, useAct } from "../act.ts";
import { answerOf, api } from "../api.ts";
import { type DeliveryFilters, filterOf } from "../delivery-filters.ts";
import { reasonIn } from "../text/reason-text.ts";
import { t } from "../text/text.ts";
import { shortCommit } from "../time-text.ts";
import { visible } from "../visible.ts";
import { Moment } from "./moment.tsx";
import { reachable } from "./page.tsx";
import { Loaded } from "./query.tsx";
import { touched } from "./replay.tsx";
import { StateLabel } from "./state.tsx";

type Bulk = InferResponseType<typeof api.webhooks.deliveries.replay.$post, 200>;
type Item = Bulk["items"][number];

/** Replays the latest of each ref that the filters find, after a preview of the outcomes. */
export function ReplayMany({ filters }: { filters: DeliveryFilters }) {
  const [isOpen, { open, close }] = useDisclosure(false);
  const [after, setAfter] = useState<string | null>(null);
  const filter = filterOf(filters);
  const preview = useQuery({
    queryKey: ["replay-preview", filter, after],
    queryFn: () => answerOf(api.webhooks.deliveries.replay.$post({ json: { filter, preview: true, after } })),
    enabled: isOpen,
    staleTime: 0,
    // The selection belongs to the list that is shown.
    refetchOnWindowFocus: false,
  });
  const replay = useAct(
    (only: number[]) =>
      answerOf(api.webhooks.deliveries.replay.$post({ json: { filter, preview: false, after, only } })),
    { failed: t("replay.manyFailed"), refresh: touched },
  );
  const start = () => {
    setAfter(null);
    open();
  };
  const goOn = ({ items, replayed, failed }: Bulk, next: string | null) => {
    const failedItem = items.find((item) => item.problem !== null);
    const problem = reasonIn(failedItem?.problem ?? "", failedItem?.problemParts);
    if (failed > 0) complain(new Error(t("replay.manyPartly", { count: failed, problem })));
    else tell(t("replay.manyDone", { count: replayed }));
    if (next === null) close();
    else setAfter(next);
  };
  return (
    <>
      <Button variant="default" onClick={start}>
        {t("replay.many")}
      </Button>
      <Modal opened={isOpen} onClose={close} size="xl" title={<Text fw={620}>{t("replay.manyTitle")}</Text>}>
        <Text size="sm" mb="sm">
          {t("replay.manyText")}
        </Text>
        <Loaded query={preview}>
          {(bulk) => (
            <Choice
              key={after}
              bulk={bulk}
              isPending={replay.isPending}
              onCancel={close}
              onReplay={(only) => replay.mutate(only, { onSuccess: (done) => goOn(done, bulk.next) })}
              onSkip={bulk.next === null ? null : () => setAfter(bulk.next)}
            />
          )}
        </Loaded>
      </Modal>
    </>
  );
}

/** Which of the found deliveries are replayed: at first those that would start a deploy. */
function Choice({
  bulk,
  isPending,
  onCancel,
  onReplay,
  onSkip,
}: {
  bulk: Bulk;
  isPending: boolean;
  onCancel: () => void;
  onReplay: (ids: number[]) => void;
  onSkip: (() => void) | null;
}) {
  const possible = bulk.items.filter(({ problem }) => problem === null);
  const deploying = possible.filter(wouldDeploy);
  const others = bulk.items.filter((item) => !deploying.includes(item));
  const [selected, setSelected] = useState(() => new Set(deploying.map(idOf)));
  const toggle = (id: number) => {
    const changed = new Set(selected);
    if (!changed.delete(id)) changed.add(id);
    setSelected(changed);
  };
  return (
    <>
      <Text size="sm" c="dimmed" mb="sm">
        {summaryOf(bulk, deploying.length)}
      </Text>
      {possible.length > 1 && (
        <Checkbox
          mb="xs"
          label={t("replay.all")}
          checked={selected.size === possible.length}
          indeterminate={selected.size > 0 && selected.size < possible.length}
          onChange={() => setSelected(new Set(selected.size === possible.length ? [] : possible.map(idOf)))}
        />
      )}
      {bulk.items.length > 0 && (
        <ul className="replay-list" aria-label={t("replay.list")} {...reachable}>
          {[...deploying, ...others].map((item) => (
            <Expected
              key={idOf(item)}
              item={item}
              isSelected={selected.has(idOf(item))}
              onToggle={() => toggle(idOf(item))}
            />
          ))}
        </ul>
      )}
      <Group justify="flex-end" mt="lg">
        <Button variant="default" onClick={onCancel}>
          {t("replay.cancel")}
        </Button>
        {onSkip !== null && (
          <Button variant="default" disabled={isPending} onClick={onSkip}>
            {t("replay.skip")}
          </Button>
        )}
        <Button disabled={selected.size === 0} loading={isPending} onClick={() => onReplay([...selected])}>
          {t("replay.start", { count: selected.size })}
        </Button>
      </Group>
    </>
  );
}

function idOf({ delivery }: Item): number {
  return delivery.id;
}

function wouldDeploy({ expected }: Item): boolean {
  return expected?.status === "accepted" || expected?.status === "merged";
}

/** What a delivery would do by the current rules, before anything is replayed. */
function Expected({
  item: { delivery, expected, problem, problemParts },
  isSelected,
  onToggle,
}: {
  item: Item;
  isSelected: boolean;
  onToggle: () => void;
}) {
  const reason = expected
    ? reasonIn(expected.reason, expected.reasonParts)
    : reasonIn(problem ?? "", problemParts);
  return (
    <li>
      <Checkbox
        checked={isSelected}
        disabled={problem !== null}
        onChange={onToggle}
        aria-label={t("replay.choose", { id: String(delivery.id), ref: visible(delivery.ref) })}
      />
      <div>
        <div className="replay-line">
          {expected && <StateLabel state={expected.status} />}
          <b className="foreign">{visible(delivery.project_name)}</b>
          <span className="foreign">{visible(delivery.ref)}</span>
          <span className="mono">{visible(shortCommit(delivery.commit))}</span>
          <Moment at={delivery.created_at} />
        </div>
        <div className="reason foreign">{reason}</div>
      </div>
    </li>
  );
}

function summaryOf(bulk: Bulk, deploying: number): string {
  const { matched, older, overtaken, unverified, nothing, left, isCut } = bulk;
  const counts = [
    t("replay.found", { count: matched }),
    t("replay.would", { count: deploying }),
    older > 0 ? t("replay.older", { count: older }) : "",
    overtaken > 0 ? t("replay.overtakenCount", { count: overtaken }) : "",
    unverified > 0 ? t("replay.unverified", { count: unverified }) : "",
    nothing > 0 ? t("replay.nothing", { count: nothing }) : "",
    left > 0 ? t("replay.left", { count: left }) : "",
    isCut ? t("replay.cut") : "",
  ];
  return counts.filter((sentence) => sentence !== "").join(" ");
}
