import { Button, Group, Modal, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import type { InferResponseType } from "hono/client";
import { useState } from "react";
import { complain, tell, useAct } from "../act.ts";
import { answerOf, api } from "../api.ts";
import { type DeliveryFilters, filterOf } from "../delivery-query.ts";
import { meQuery } from "../session.ts";
import type { Delivery } from "../shapes.ts";
import { reasonIn } from "../text/reason-text.ts";
import { t } from "../text/text.ts";
import { shortCommit } from "../time-text.ts";
import { visible } from "../visible.ts";
import { ConfirmButton } from "./confirm.tsx";
import { Icon } from "./icon.tsx";
import { Moment } from "./moment.tsx";
import { reachable } from "./page.tsx";
import { Loaded } from "./query.tsx";
import { StateLabel } from "./state.tsx";

const touched = ["deliveries", "delivery", "tasks", "overview"];

/** Triggers one delivery again from its record. */
export function ReplayOne({ delivery }: { delivery: Delivery }) {
  const { data: me } = useQuery(meQuery);
  const id = String(delivery.id);
  const hadBadSignature = delivery.code === "signature_invalid";
  const wasRefusedUnjudged = ["rate_limited", "lock_timeout", "internal_error"].includes(delivery.code);
  const replay = useAct(
    () =>
      answerOf(
        api.webhooks.deliveries[":id"].replay.$post({
          param: { id: delivery.id },
          json: { force: hadBadSignature },
        }),
      ),
    {
      done: (answer) =>
        t("replay.oneDone", { id: String(answer.deliveryId), outcome: t(`state.${answer.status}`) }),
      failed: t("replay.oneFailed", { id }),
      refresh: touched,
    },
  );
  if (me?.role !== "admin") return null;
  return (
    <ConfirmButton
      label={t("replay.one")}
      leftSection={<Icon name="again" size={15} />}
      title={t("replay.oneTitle", { id })}
      confirm={t(hadBadSignature ? "replay.oneForce" : "replay.one")}
      isDanger={hadBadSignature}
      onConfirm={() => replay.mutateAsync(undefined)}
    >
      {t(wasRefusedUnjudged ? "replay.oneTextUnjudged" : "replay.oneText")}
      {hadBadSignature && <p>{t("replay.oneUnverified")}</p>}
    </ConfirmButton>
  );
}

type Bulk = InferResponseType<typeof api.webhooks.deliveries.replay.$post, 200>;

/** Replays the latest of each ref that the filters find, after a preview of the outcomes. */
export function ReplayMany({ filters }: { filters: DeliveryFilters }) {
  const [isOpen, { open, close }] = useDisclosure(false);
  const [after, setAfter] = useState<string | null>(null);
  const filter = filterOf(filters);
  const ask = (isPreview: boolean) =>
    answerOf(api.webhooks.deliveries.replay.$post({ json: { filter, preview: isPreview, after } }));
  const preview = useQuery({
    queryKey: ["replay-preview", filter, after],
    queryFn: () => ask(true),
    enabled: isOpen,
    staleTime: 0,
  });
  const replay = useAct(() => ask(false), { failed: t("replay.manyFailed"), refresh: touched });
  const start = () => {
    setAfter(null);
    open();
  };
  const goOn = ({ items, replayed, failed, next }: Bulk) => {
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
            <>
              <Text size="sm" c="dimmed" mb="sm">
                {summaryOf(bulk)}
              </Text>
              {bulk.items.length > 0 && <Expected items={bulk.items} />}
              <Group justify="flex-end" mt="lg">
                <Button variant="default" onClick={close}>
                  {t("replay.cancel")}
                </Button>
                <Button
                  disabled={bulk.items.length === 0}
                  loading={replay.isPending}
                  onClick={() => replay.mutate(undefined, { onSuccess: goOn })}
                >
                  {t("replay.start", { count: bulk.items.length })}
                </Button>
              </Group>
            </>
          )}
        </Loaded>
      </Modal>
    </>
  );
}

/** What each delivery would do by the current rules, before anything is replayed. */
function Expected({ items }: Pick<Bulk, "items">) {
  return (
    <ul className="replay-list" aria-label={t("replay.list")} {...reachable}>
      {items.map(({ delivery, expected, problem, problemParts }) => (
        <li key={delivery.id}>
          <div className="replay-line">
            {expected && <StateLabel state={expected.status} />}
            <b className="foreign">{visible(delivery.project_name)}</b>
            <span className="foreign">{visible(delivery.ref)}</span>
            <span className="mono">{visible(shortCommit(delivery.commit))}</span>
            <Moment at={delivery.created_at} />
          </div>
          <div className="reason foreign">
            {expected
              ? reasonIn(expected.reason, expected.reasonParts)
              : reasonIn(problem ?? "", problemParts)}
          </div>
        </li>
      ))}
    </ul>
  );
}

function summaryOf({ matched, items, older, overtaken, unverified, nothing, left, isCut }: Bulk): string {
  const counts = [
    t("replay.found", { count: matched }),
    t("replay.would", { count: items.length }),
    older > 0 ? t("replay.older", { count: older }) : "",
    overtaken > 0 ? t("replay.overtakenCount", { count: overtaken }) : "",
    unverified > 0 ? t("replay.unverified", { count: unverified }) : "",
    nothing > 0 ? t("replay.nothing", { count: nothing }) : "",
    left > 0 ? t("replay.left", { count: left }) : "",
    isCut ? t("replay.cut") : "",
  ];
  return counts.filter((sentence) => sentence !== "").join(" ");
}
