import { Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { deliveryQuery } from "../delivery-query.ts";
import type { Delivery } from "../shapes.ts";
import { reasonIn } from "../text/reason-text.ts";
import { t } from "../text/text.ts";
import { exactText } from "../time-text.ts";
import { visible } from "../visible.ts";
import { CopyText } from "./copy-text.tsx";
import { Moment } from "./moment.tsx";
import { reachable } from "./page.tsx";
import { Loaded } from "./query.tsx";
import { ReplayOne } from "./replay.tsx";
import { StateLabel } from "./state.tsx";
import { Trace } from "./trace.tsx";

/** All that is known of one delivery: the outcome first, then why, then what was sent. */
export function DeliveryDetail({ id }: { id: number }) {
  const query = useQuery(deliveryQuery(id));
  return (
    <Loaded query={query}>
      {(delivery) => (
        <div className="stack">
          <Outcome delivery={delivery} />
          <Facts delivery={delivery} />
          <section>
            <Title order={2} mb="sm">
              {t("deliveries.why")}
            </Title>
            {delivery.trace.length === 0 ? (
              <Text size="sm" c="dimmed">
                {t("deliveries.noTrace")}
              </Text>
            ) : (
              <Trace steps={delivery.trace} projectId={delivery.project_id} />
            )}
          </section>
          <Sent title={t("deliveries.headers")} text={headerText(delivery.headers)} />
          <Sent title={t("deliveries.body")} text={prettyBody(delivery.body)} />
        </div>
      )}
    </Loaded>
  );
}

function Outcome({ delivery }: { delivery: Delivery }) {
  return (
    <div className="outcome">
      <div>
        <StateLabel state={delivery.status} strong />
        <Text size="sm" mt={4} className="foreign">
          {reasonIn(delivery.reason, delivery.reason_parts)}
        </Text>
      </div>
      <ReplayOne delivery={delivery} />
    </div>
  );
}

function Facts({ delivery }: { delivery: Delivery }) {
  const facts: [string, ReactNode][] = [
    [
      t("deliveries.arrived"),
      visible(
        t("deliveries.arrivedFrom", {
          time: exactText(delivery.created_at),
          address: delivery.remote_ip,
        }),
      ),
    ],
    [t("deliveries.answered"), `${delivery.http_status} ${delivery.code}`],
  ];
  const toTask = (id: number) => (
    <Link href={`/tasks/${id}`}>{t("deliveries.taskNumber", { id: String(id) })}</Link>
  );
  const toDelivery = (id: number) => (
    <Link href={`/deliveries/${id}`}>{t("deliveries.one", { id: String(id) })}</Link>
  );
  if (delivery.task_id !== 0) facts.push([t("deliveries.task"), toTask(delivery.task_id)]);
  if (delivery.merged_into_task_id !== null)
    facts.push([t("deliveries.mergedInto"), toTask(delivery.merged_into_task_id)]);
  if (delivery.replaced_by !== null)
    facts.push([t("deliveries.replacedBy"), toDelivery(delivery.replaced_by)]);
  if (delivery.project_id !== 0)
    facts.push([
      t("words.project"),
      <Link key="project" href={`/projects/${delivery.project_id}`} className="foreign">
        {visible(delivery.project_name)}
      </Link>,
    ]);
  if (delivery.ref !== "")
    facts.push([
      t("deliveries.ref"),
      visible(
        t(delivery.ref_type === "tag" ? "deliveries.refOfTag" : "deliveries.refOfBranch", {
          event: delivery.event,
          ref: delivery.ref,
        }),
      ),
    ]);
  if (delivery.commit !== "")
    facts.push([
      t("deliveries.commit"),
      <CopyText key="commit" value={delivery.commit} label={t("deliveries.theCommit")} />,
    ]);
  if (delivery.commit_message !== "") facts.push([t("deliveries.message"), visible(delivery.commit_message)]);
  if (delivery.author !== "") facts.push([t("deliveries.pushedBy"), visible(delivery.author)]);
  if (delivery.host_delivery_id !== "")
    facts.push([t("deliveries.hostId"), <code key="host">{visible(delivery.host_delivery_id)}</code>]);
  if (delivery.repeat_of !== null) facts.push([t("deliveries.repeats"), toDelivery(delivery.repeat_of)]);
  if (delivery.replay_of !== null) facts.push([t("deliveries.replayOf"), toDelivery(delivery.replay_of)]);
  if (delivery.replays.length > 0)
    facts.push([t("deliveries.replays"), <Replays key="replays" {...delivery} />]);
  if (delivery.count > 1)
    facts.push([t("deliveries.counted"), t("deliveries.countedAlike", { count: delivery.count })]);
  return (
    <dl className="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Replays({ replays }: Pick<Delivery, "replays">) {
  return (
    <ul className="plain-list">
      {replays.map(({ id, status, created_at }) => (
        <li key={id}>
          <Link href={`/deliveries/${id}`}>{t("deliveries.one", { id: String(id) })}</Link>{" "}
          <StateLabel state={status} />{" "}
          <span className="dim">
            <Moment at={created_at} />
          </span>
        </li>
      ))}
    </ul>
  );
}

function Sent({ title, text }: { title: string; text: string }) {
  return (
    <section>
      <Title order={2} mb={6}>
        {title}
      </Title>
      {text === "" ? (
        <Text size="sm" c="dimmed">
          {t("deliveries.nothingStored")}
        </Text>
      ) : (
        <pre className="source" {...reachable}>
          {visible(text)}
        </pre>
      )}
    </section>
  );
}

function headerText(headers: Record<string, string>): string {
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join("\n");
}

/** Indented where it is whole JSON; a body that was cut stays as it came. */
function prettyBody(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}
