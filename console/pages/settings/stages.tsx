import { Checkbox, Group, NumberInput, Select, TagsInput, Textarea, TextInput } from "@mantine/core";
import { Panel } from "../../components/page.tsx";
import { SaveBar } from "../../components/save-bar.tsx";
import { type ProjectChange, useProjectDraft } from "../../project-query.ts";
import type { Project } from "../../shapes.ts";
import { type StartFields, StartSettings } from "./start.tsx";

type HealthCheck = Project["stages"]["start"]["healthCheck"];

const names = ["build", "deploy", "start"] as const;

const about = {
  build: "Makes what will run: install, compile, test.",
  deploy: "Puts it in its place.",
  start: "Starts it. The task succeeds only if what it started runs and is what answers the health check.",
} as const;

const examples = {
  build: "npm ci\nnpm run build",
  deploy: 'rsync -a --delete dist/ "$DEPLOY_HOST":/srv/shop/',
  start: 'ssh "$DEPLOY_HOST" systemctl restart shop',
} as const;

type StageName = (typeof names)[number];

/** The fields of all stages as one flat object, so that each can change and conflict separately. */
type StageFields = Record<`${StageName}Script` | `${StageName}Folder`, string> &
  Record<`${StageName}TimeLimit`, number | null> & {
    healthCheck: HealthCheck;
    rollback: Project["rollback"];
    deploy: Project["deploy"];
  } & StartFields;

function stagesOf({ rollback, deploy: rule, stages: { build, deploy, start } }: Project): StageFields {
  return {
    buildScript: build.script,
    buildFolder: build.directory ?? "",
    buildTimeLimit: build.timeout,
    deployScript: deploy.script,
    deployFolder: deploy.directory ?? "",
    deployTimeLimit: deploy.timeout,
    startScript: start.script,
    startFolder: start.directory ?? "",
    startTimeLimit: start.timeout,
    rollback,
    deploy: rule,
    healthCheck: start.healthCheck,
    previous: start.previous,
    settleSeconds: start.settleSeconds,
    log: start.log,
    switch: start.switch,
  };
}

function changeOf(changes: Partial<StageFields>): ProjectChange {
  const stage = (name: StageName) => ({
    script: changes[`${name}Script`],
    directory: changes[`${name}Folder`],
    timeout: changes[`${name}TimeLimit`],
  });
  const { healthCheck, previous, settleSeconds, log } = changes;
  const start = {
    ...stage("start"),
    ...{ healthCheck, previous, settleSeconds, log },
    switch: changes.switch,
  };
  return {
    rollback: changes.rollback,
    deploy: changes.deploy,
    stages: { build: stage("build"), deploy: stage("deploy"), start },
  };
}

/** Which deploys wait until a manager approves them. */
function ApprovalFields({
  value,
  onChange,
}: {
  value: Project["deploy"];
  onChange: (rule: Project["deploy"]) => void;
}) {
  return (
    <>
      <Select
        label="Before a deploy"
        description="Only an administrator can make this weaker."
        data={[
          { value: "none", label: "nobody is asked" },
          { value: "required", label: "a manager must approve it" },
        ]}
        allowDeselect={false}
        value={value.approval}
        onChange={(approval) =>
          onChange({ ...value, approval: approval === "required" ? "required" : "none" })
        }
      />
      {value.approval === "required" && (
        <>
          <TagsInput
            label="Branches that need an approval"
            description="Globs; empty: every branch and tag."
            value={value.branches}
            onChange={(branches) => onChange({ ...value, branches })}
          />
          <Checkbox
            label="Nobody approves their own push"
            checked={value.notByPusher}
            onChange={(event) => onChange({ ...value, notByPusher: event.currentTarget.checked })}
          />
        </>
      )}
    </>
  );
}

export function StageSettings({ project }: { project: Project }) {
  const draft = useProjectDraft(project, stagesOf, changeOf);
  const { value, set, text, refused } = draft;
  return (
    <Panel
      id="stages"
      title="Stages"
      about="Shell scripts that run one after the other in a fresh checkout. A stage without a script is skipped. CI_REF, CI_COMMIT, CI_MESSAGE and CI_AUTHOR are set."
    >
      <form className="form" style={{ maxWidth: 820 }} onSubmit={draft.submit}>
        {names.map((name) => (
          <div key={name} className="script">
            <Textarea
              label={name}
              description={about[name]}
              placeholder={examples[name]}
              autosize
              minRows={4}
              maxRows={24}
              spellCheck={false}
              autoCapitalize="off"
              {...text(`${name}Script`, `stages.${name}.script`)}
            />
            <Group gap={8} mt={8}>
              <TextInput
                size="xs"
                style={{ flex: "1 1 220px" }}
                label="Folder"
                aria-label={`Folder of ${name}`}
                placeholder="the root of the repository"
                {...text(`${name}Folder`, `stages.${name}.directory`)}
              />
              <NumberInput
                size="xs"
                style={{ flex: "1 1 220px" }}
                label="Time limit"
                aria-label={`Time limit of ${name} in seconds`}
                placeholder="that of the whole task"
                suffix=" s"
                min={1}
                value={value[`${name}TimeLimit`] ?? ""}
                error={refused?.about(`stages.${name}.timeout`)}
                onChange={(timeout) => set({ [`${name}TimeLimit`]: timeout === "" ? null : Number(timeout) })}
              />
            </Group>
          </div>
        ))}
        <StartSettings draft={draft} />
        <Select
          label="If deploy, start or the health check fails"
          data={[
            { value: "automatic", label: "the previous release comes back" },
            { value: "off", label: "nothing more is done" },
          ]}
          allowDeselect={false}
          value={value.rollback}
          onChange={(rollback) => set({ rollback: rollback === "automatic" ? "automatic" : "off" })}
        />
        <ApprovalFields value={value.deploy} onChange={(deploy) => set({ deploy })} />
        <HealthCheckFields
          value={value.healthCheck}
          onChange={(healthCheck) => set({ healthCheck })}
          errorOf={(field) => refused?.about(`stages.start.healthCheck.${field}`)}
        />
        <SaveBar draft={draft} />
      </form>
    </Panel>
  );
}

const kinds = [
  { value: "none", label: "none: started means done" },
  { value: "http", label: "an address that answers" },
  { value: "tcp", label: "a port that takes connections" },
  { value: "command", label: "a command that succeeds" },
];

const fresh: Record<string, HealthCheck> = {
  http: { type: "http", url: "http://127.0.0.1:8080/", timeoutSeconds: 60 },
  tcp: { type: "tcp", host: "127.0.0.1", port: 8080, timeoutSeconds: 60 },
  command: { type: "command", command: "", timeoutSeconds: 60 },
};

function HealthCheckFields({
  value,
  onChange,
  errorOf,
}: {
  value: HealthCheck;
  onChange: (check: HealthCheck) => void;
  errorOf: (field: string) => string | undefined;
}) {
  return (
    <>
      <Select
        label="Health check after start"
        data={kinds}
        allowDeselect={false}
        value={value?.type ?? "none"}
        onChange={(kind) => onChange(fresh[kind ?? ""] ?? null)}
      />
      {value?.type === "http" && (
        <TextInput
          label="Address"
          value={value.url}
          error={errorOf("url")}
          onChange={(event) => onChange({ ...value, url: event.currentTarget.value })}
        />
      )}
      {value?.type === "http" && (
        <TextInput
          label="The response must contain"
          description="For services that something else manages, such as systemd or nginx: $CI_COMMIT tells the new version from the old one."
          placeholder="anything"
          value={value.expect ?? ""}
          error={errorOf("expect")}
          onChange={(event) => {
            const { expect: _, ...rest } = value;
            const expect = event.currentTarget.value;
            onChange(expect === "" ? rest : { ...rest, expect });
          }}
        />
      )}
      {value?.type === "tcp" && (
        <TextInput
          label="Host and port"
          value={`${value.host}:${value.port}`}
          error={errorOf("host") ?? errorOf("port")}
          onChange={(event) => {
            const [host = "", port = ""] = event.currentTarget.value.split(/:(?=\d*$|\$PORT$)/);
            onChange({ ...value, host, port: port === "$PORT" ? port : Number(port) });
          }}
        />
      )}
      {value?.type === "command" && (
        <TextInput
          label="Command"
          className="script"
          value={value.command}
          error={errorOf("command")}
          onChange={(event) => onChange({ ...value, command: event.currentTarget.value })}
        />
      )}
      {value && (
        <NumberInput
          label="Tried for"
          description="Then the stage fails, and what it started is ended."
          suffix=" s"
          min={1}
          maw={220}
          value={value.timeoutSeconds ?? ""}
          error={errorOf("timeoutSeconds")}
          onChange={(seconds) => onChange({ ...value, timeoutSeconds: Number(seconds) })}
        />
      )}
    </>
  );
}
