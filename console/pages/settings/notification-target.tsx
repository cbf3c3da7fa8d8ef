import { Button, Group, MultiSelect, NumberInput, PasswordInput, TextInput } from "@mantine/core";
import { useId, useState } from "react";
import { tell, warn } from "../../act.ts";
import { ChatSign } from "../../components/chat-sign.tsx";
import { ForManagers, useMayManage } from "../../components/permission.tsx";
import type { Project } from "../../shapes.ts";
import { reasonIn } from "../../text/reason-text.ts";
import { type TextKey, t } from "../../text/text.ts";
import { visible } from "../../visible.ts";

type Target = Project["notify"][number];

/** A target as it is edited: a new one has no id, and its secret can be written but not read. */
export type EditedTarget = Omit<Target, "id"> & { id?: string; secret?: string };

/** What a test message came to. */
interface TestResult {
  delivered: boolean;
  fault: string;
  faultParts: Parameters<typeof reasonIn>[1];
  response: string;
}

/** In the order of the picker. */
const eventNames = {
  "task.queued": "notify.event_task_queued",
  "task.started": "notify.event_task_started",
  "task.succeeded": "notify.event_task_succeeded",
  "task.failed": "notify.event_task_failed",
  "task.canceled": "notify.event_task_canceled",
  "task.timeout": "notify.event_task_timeout",
  "task.lost": "notify.event_task_lost",
  "approval.requested": "notify.event_approval_requested",
  "delivery.rejected": "notify.event_delivery_rejected",
  "delivery.failed": "notify.event_delivery_failed",
  "runner.gone": "notify.event_runner_gone",
  "service.down": "notify.event_service_down",
  "service.up": "notify.event_service_up",
} as const satisfies Record<Target["events"][number], TextKey>;

const events = Object.keys(eventNames) as Target["events"];

const formats: { value: Target["format"]; address: string }[] = [
  { value: "slipway", address: "https://example.com/hooks/deploys" },
  { value: "slack", address: "https://hooks.slack.com/services/…" },
  { value: "discord", address: "https://discord.com/api/webhooks/…" },
  { value: "dingtalk", address: "https://oapi.dingtalk.com/robot/send?access_token=…" },
  { value: "feishu", address: "https://open.feishu.cn/open-apis/bot/v2/hook/…" },
  { value: "wecom", address: "https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=…" },
  { value: "telegram", address: "https://api.telegram.org/bot<token>/sendMessage?chat_id=<chat>" },
  { value: "push", address: "channel:releases" },
];

export const freshTarget: EditedTarget = {
  format: "slipway",
  url: "",
  events: [],
  logLines: 0,
  secretSet: false,
};

const maxLogLines = 50;

/** The body of a request that saves it. */
export function sentTarget({ secretSet: _secretSet, secret, ...target }: EditedTarget) {
  return { ...target, ...(secret ? { secret } : {}) };
}

type TargetProps = Parameters<typeof TargetFields>[0];

/** A notification address. A saved one is one line until the user edits it. */
export function TargetCard(props: TargetProps) {
  const [isOpened, setOpened] = useState(false);
  const { target, fault, onTest } = props;
  if (isOpened || onTest === undefined || fault !== undefined) return <TargetFields {...props} />;
  const address = visible(target.url);
  return (
    <div className="target-line">
      <div className="target-line-what">
        <b>{t(`notify.service_${target.format}`)}</b> <span className="mono foreign">{address}</span>
        <div className="dim small">
          {target.events.length === 0
            ? t("notify.allEvents")
            : target.events.map((event) => t(eventNames[event])).join(t("words.listSeparator"))}
        </div>
      </div>
      <ForManagers>
        <Group gap="xs">
          <TestButton onTest={onTest} />
          <Button
            variant="default"
            aria-label={t("notify.changeOf", { address })}
            onClick={() => setOpened(true)}
          >
            {t("notify.change")}
          </Button>
        </Group>
      </ForManagers>
    </div>
  );
}

/** The service as tiles, then its fields, each with a label. */
function TargetFields({
  target,
  change,
  fault,
  signsWithSecret = false,
  onTest,
}: {
  target: EditedTarget;
  change: (target: EditedTarget) => void;
  fault: string | undefined;
  /** Whether a signed webhook has a secret of its own here; otherwise the project's key signs it. */
  signsWithSecret?: boolean;
  /** Undefined: it is not saved yet. */
  onTest: (() => Promise<TestResult>) | undefined;
}) {
  const name = useId();
  const mayManage = useMayManage();
  const format = formats.find(({ value }) => value === target.format);
  const hasSecret =
    target.format === "dingtalk" ||
    target.format === "feishu" ||
    (signsWithSecret && target.format === "slipway");
  return (
    <fieldset className="target-card">
      <legend className="visually-hidden">{t("notify.target")}</legend>
      <div role="radiogroup" aria-label={t("notify.format")} className="tiles">
        {formats.map(({ value }) => (
          <label key={value} className="tile">
            <input
              type="radio"
              name={name}
              checked={target.format === value}
              disabled={!mayManage}
              onChange={() => change({ ...target, format: value })}
            />
            <ChatSign format={value} />
            {t(`notify.service_${value}`)}
          </label>
        ))}
      </div>
      <TextInput
        label={t("notify.address")}
        placeholder={format?.address ?? ""}
        required
        value={target.url}
        error={fault}
        onChange={(event) => change({ ...target, url: event.currentTarget.value })}
      />
      <MultiSelect
        label={t("notify.events")}
        placeholder={target.events.length === 0 ? t("notify.allEvents") : ""}
        data={events.map((event) => ({ value: event, label: t(eventNames[event]) }))}
        value={target.events}
        onChange={(chosen) => change({ ...target, events: events.filter((event) => chosen.includes(event)) })}
      />
      <div className="target-foot">
        <NumberInput
          label={t("notify.logLines")}
          description={t("notify.logLinesHint")}
          min={0}
          max={maxLogLines}
          value={target.logLines}
          onChange={(lines) => change({ ...target, logLines: Number(lines) || 0 })}
        />
        <ForManagers>
          {hasSecret && (
            <PasswordInput
              label={t("notify.secret")}
              description={t(`notify.secretHint_${target.format === "slipway" ? "slipway" : "robot"}`)}
              placeholder={target.secretSet ? t("notify.secretSet") : ""}
              autoComplete="off"
              value={target.secret ?? ""}
              onChange={(event) => change({ ...target, secret: event.currentTarget.value })}
            />
          )}
        </ForManagers>
      </div>
      <ForManagers>
        {onTest === undefined ? (
          <span className="small dim">{t("notify.testAfterSave")}</span>
        ) : (
          <TestButton onTest={onTest} />
        )}
      </ForManagers>
    </fieldset>
  );
}

function TestButton({ onTest }: { onTest: () => Promise<TestResult> }) {
  const send = async () => {
    const { delivered, fault, faultParts, response } = await onTest();
    if (delivered) tell(t("notify.tested"));
    else warn(t("notify.testFailed", { fault: reasonIn(fault, faultParts), response }));
  };
  return (
    <div>
      {/* What was refused is shown where it was asked for. */}
      <Button variant="default" title={t("notify.testHint")} onClick={() => void send().catch(() => {})}>
        {t("notify.test")}
      </Button>
    </div>
  );
}
