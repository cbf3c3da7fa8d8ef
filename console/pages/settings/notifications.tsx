import { Button, MultiSelect, NumberInput, PasswordInput, Select, TextInput } from "@mantine/core";
import { tell, useAct, warn } from "../../act.ts";
import { answerOf, api } from "../../api.ts";
import { Panel } from "../../components/page.tsx";
import { ForManagers } from "../../components/permission.tsx";
import type { Project } from "../../shapes.ts";
import { reasonIn } from "../../text/reason-text.ts";
import { t } from "../../text/text.ts";
import { NotificationAttempts } from "./notification-attempts.tsx";
import { ProjectKey } from "./project-key.tsx";
import { RowsForm } from "./rows-form.tsx";

type Target = Project["notify"][number];

/** A target as it is edited: a new one has no id, and its secret can be written but not read. */
type Row = Omit<Target, "id"> & { id?: string; secret?: string };

const events: Target["events"] = [
  "task.queued",
  "task.started",
  "task.succeeded",
  "task.failed",
  "task.canceled",
  "task.timeout",
  "task.lost",
  "approval.requested",
  "delivery.rejected",
  "delivery.failed",
  "runner.gone",
];

/** Names of services are not translated. */
const formats: { value: Target["format"]; name: string; address: string }[] = [
  { value: "slipway", name: "", address: "https://example.com/hooks/deploys" },
  { value: "slack", name: "Slack", address: "https://hooks.slack.com/services/…" },
  { value: "discord", name: "Discord", address: "https://discord.com/api/webhooks/…" },
  { value: "dingtalk", name: "DingTalk", address: "https://oapi.dingtalk.com/robot/send?access_token=…" },
  { value: "feishu", name: "Feishu", address: "https://open.feishu.cn/open-apis/bot/v2/hook/…" },
  { value: "wecom", name: "WeCom", address: "https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=…" },
  {
    value: "telegram",
    name: "Telegram",
    address: "https://api.telegram.org/bot<token>/sendMessage?chat_id=<chat>",
  },
];

const fresh: Row = { format: "slipway", url: "", events: [], logLines: 0, secretSet: false };

const maxLogLines = 50;

/** Messages about tasks, deliveries and runners. */
export function NotificationSettings({ project }: { project: Project }) {
  return (
    <Panel title={t("settings.notifications")} about={t("notify.about")}>
      <RowsForm<Row>
        project={project}
        rowsOf={({ notify }) => notify}
        fresh={fresh}
        changeOf={(rows) => ({ notify: rows.map(sentOf) })}
        faultOf={(_, index, refused) =>
          ["url", "secret", "id"].map((field) => refused?.about(`notify.${index}.${field}`)).find(Boolean)
        }
        addLabel={t("notify.add")}
        removeLabelOf={() => t("notify.remove")}
        failure={t("notify.notSaved")}
        label={t("notify.targets")}
        isUndoable={false}
        isWide
      >
        {(target, change, fault) => (
          <TargetFields project={project} target={target} change={change} fault={fault} />
        )}
      </RowsForm>
      <ProjectKey projectId={project.id} kind="notify-key" />
      <ForManagers>
        <NotificationAttempts project={project} />
      </ForManagers>
    </Panel>
  );
}

function sentOf({ secretSet: _secretSet, secret, ...target }: Row) {
  return { ...target, ...(secret ? { secret } : {}) };
}

function TargetFields({
  project,
  target,
  change,
  fault,
}: {
  project: Project;
  target: Row;
  change: (target: Row) => void;
  fault: string | undefined;
}) {
  const format = formats.find(({ value }) => value === target.format);
  return (
    <>
      <Select
        aria-label={t("notify.format")}
        allowDeselect={false}
        style={{ flex: "0 1 150px" }}
        data={formats.map(({ value, name }) => ({ value, label: name || t("notify.signedWebhook") }))}
        value={target.format}
        onChange={(chosen) =>
          change({
            ...target,
            format: formats.find(({ value }) => value === chosen)?.value ?? "slipway",
          })
        }
      />
      <TextInput
        aria-label={t("notify.address")}
        placeholder={format?.address ?? ""}
        required
        style={{ flex: "1 1 260px" }}
        value={target.url}
        error={fault}
        onChange={(event) => change({ ...target, url: event.currentTarget.value })}
      />
      <MultiSelect
        aria-label={t("notify.events")}
        placeholder={target.events.length === 0 ? t("notify.allEvents") : ""}
        style={{ flex: "1 1 260px" }}
        data={events}
        value={target.events}
        onChange={(chosen) => change({ ...target, events: events.filter((event) => chosen.includes(event)) })}
      />
      <NumberInput
        aria-label={t("notify.logLines")}
        title={t("notify.logLinesHint")}
        style={{ flex: "0 1 110px" }}
        min={0}
        max={maxLogLines}
        suffix={t("notify.logLinesUnit")}
        value={target.logLines}
        onChange={(lines) => change({ ...target, logLines: Number(lines) || 0 })}
      />
      <ForManagers>
        {(target.format === "dingtalk" || target.format === "feishu") && (
          <PasswordInput
            aria-label={t("notify.secret")}
            placeholder={target.secretSet ? t("notify.secretSet") : t("notify.secret")}
            style={{ flex: "0 1 200px" }}
            autoComplete="off"
            value={target.secret ?? ""}
            onChange={(event) => change({ ...target, secret: event.currentTarget.value })}
          />
        )}
        {target.id !== undefined && <TestButton projectId={project.id} targetId={target.id} />}
      </ForManagers>
    </>
  );
}

function TestButton({ projectId, targetId }: { projectId: number; targetId: string }) {
  const test = useAct(
    () =>
      answerOf(api.projects[":id"].notify[":targetId"].test.$post({ param: { id: projectId, targetId } })),
    { refresh: ["project"] },
  );
  const send = () =>
    test.mutate(undefined, {
      onSuccess({ delivered, fault, faultParts, response }) {
        if (delivered) tell(t("notify.tested"));
        else warn(t("notify.testFailed", { fault: reasonIn(fault, faultParts), response }));
      },
    });
  return (
    <Button variant="default" title={t("notify.testHint")} loading={test.isPending} onClick={send}>
      {t("notify.test")}
    </Button>
  );
}
