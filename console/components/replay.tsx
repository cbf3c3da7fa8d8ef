import { useQuery } from "@tanstack/react-query";
import { useAct } from "../act.ts";
import { answerOf, api } from "../api.ts";
import { releasesQuery } from "../release-query.ts";
import { meQuery } from "../session.ts";
import type { Delivery } from "../shapes.ts";
import { t } from "../text/text.ts";
import { shortCommit } from "../time-text.ts";
import { visible } from "../visible.ts";
import { ConfirmButton } from "./confirm.tsx";
import { Icon } from "./icon.tsx";

/** Queries that a replay changes. */
export const touched = ["activity", "delivery", "home"];

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
      {delivery.project_id !== 0 && <OlderCommit delivery={delivery} />}
    </ConfirmButton>
  );
}

/** In the question before a replay: something was deployed after the delivery arrived. */
function OlderCommit({ delivery: { project_id, commit, created_at } }: { delivery: Delivery }) {
  const releases = useQuery(releasesQuery(project_id));
  const serving = releases.data?.items.find(({ isLive }) => isLive);
  if (!serving || commit === "" || serving.commit === commit || serving.deployedAt < created_at) return null;
  return (
    <p>
      <b>
        {t("replay.oneOlder", {
          commit: visible(shortCommit(commit)),
          serving: visible(shortCommit(serving.commit)),
        })}
      </b>
    </p>
  );
}
