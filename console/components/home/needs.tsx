import { Button, Title } from "@mantine/core";
import { useState } from "react";
import { Link } from "wouter";
import type { Need } from "../../home-query.ts";
import { reasonIn } from "../../text/reason-text.ts";
import { t } from "../../text/text.ts";
import { visible } from "../../visible.ts";
import { Moment } from "../moment.tsx";

const shownAtFirst = 6;

/** What waits for a person, each as one line that leads to where it is settled. Nothing: one quiet line. */
export function Needs({ needs, isAdmin }: { needs: Need[]; isAdmin: boolean }) {
  const [isWhole, setWhole] = useState(false);
  if (needs.length === 0) return <p className="needs-nothing">{t("home.nothingNeeded")}</p>;
  const shown = isWhole ? needs : needs.slice(0, shownAtFirst);
  return (
    <section className="panel needs" aria-labelledby="needs">
      <div className="needs-head">
        <Title order={2} id="needs">
          {t("home.needs")}
        </Title>
        <span className="count">{needs.length}</span>
      </div>
      <ul>
        {shown.map((need) => (
          <li key={keyOf(need)} data-kind={need.kind}>
            <Link href={placeOf(need, isAdmin)} className="strong foreign">
              {titleOf(need)}
            </Link>
            <span className="dim cut" title={detailOf(need)}>
              {detailOf(need)}
            </span>
            {need.at !== null && (
              <span className="dim small">
                <Moment at={need.at} />
              </span>
            )}
          </li>
        ))}
      </ul>
      {shown.length < needs.length && (
        <Button variant="subtle" size="compact-sm" onClick={() => setWhole(true)}>
          {t("home.allNeeds", { count: needs.length })}
        </Button>
      )}
    </section>
  );
}

function keyOf({ kind, projectId, name, taskId, service, place }: Need): string {
  return [kind, projectId, name, taskId, service, place].join(" ");
}

/** Where it is settled. */
function placeOf({ kind, projectId, taskId, deliveryId, service }: Need, isAdmin: boolean): string {
  const project = `/projects/${projectId}`;
  switch (kind) {
    case "queue":
      return isAdmin ? "/runners" : `/tasks/${taskId}`;
    case "approval":
    case "deploy":
      return `/tasks/${taskId}`;
    case "service":
    case "route":
      return `${project}/services/${service}`;
    case "signature":
      return `/deliveries/${deliveryId}`;
    case "unsigned":
      return `${project}/settings/rules#secret`;
    case "runner":
      return "/runners";
  }
}

function titleOf({ kind, name, service, place, state, count }: Need): string {
  if (kind === "queue") return t("home.need_queue", { count: count ?? 0 });
  return t(`home.need_${kind}`, {
    name: visible(name),
    service: service ?? "",
    place: place ?? "",
    state: state === null ? "" : t(`state.${state}`),
  });
}

function detailOf({ kind, detail, detailParts }: Need): string {
  return kind === "unsigned" ? t("home.unsignedHint") : reasonIn(detail, detailParts);
}
