import { Alert, Button } from "@mantine/core";
import { ApiProblem } from "../api.ts";
import { ChatSign } from "../components/chat-sign.tsx";
import { CopyText } from "../components/copy-text.tsx";
import { Fact } from "../components/fact.tsx";
import { Icon } from "../components/icon.tsx";
import { Moment } from "../components/moment.tsx";
import { Empty, PageHead, Panel, Problem, Rows } from "../components/page.tsx";
import { Loaded } from "../components/query.tsx";
import { StateLabel, toneOf } from "../components/state.tsx";
import { Mark } from "../components/task-marks.tsx";
import { ago } from "./samples/tasks.ts";
import { Line, Section } from "./section.tsx";

const failure = {
  data: undefined,
  isError: true,
  error: new Error("The server does not answer."),
  refetch() {},
};

const formats = ["slipway", "slack", "discord", "dingtalk", "feishu", "wecom", "telegram", "push"] as const;

export function Frame() {
  return (
    <PageHead title="Components of the console" about="Each of them, with the data that strains it.">
      <Button variant="default">Second</Button>
      <Button leftSection={<Icon name="play" size={16} />}>First</Button>
    </PageHead>
  );
}

export function States() {
  const states = Object.keys(toneOf) as (keyof typeof toneOf)[];
  return (
    <Section title="States and marks">
      <Line>
        {states.map((state) => (
          <StateLabel key={state} state={state} />
        ))}
      </Line>
      <Line>
        <Mark kind="serving" text="deployed last" />
        <Mark kind="rollback" text="back to 20" />
        <Mark kind="replay" text="replay of 12" />
        <Mark kind="action" text="stop web" />
        <span className="count">3</span>
        <span className="waiting">No runner that may take it is connected.</span>
        <Moment at={ago(4)} />
        <CopyText value="e30d59e" label="Copy the commit" />
      </Line>
      <Line>
        {formats.map((format) => (
          <ChatSign key={format} format={format} />
        ))}
      </Line>
      <Panel title="Facts">
        <dl className="facts">
          <Fact name="Address">https://shop.example</Fact>
          <Fact name="Since">
            <Moment at={ago(90)} />
          </Fact>
        </dl>
      </Panel>
    </Section>
  );
}

export function Notices() {
  return (
    <Section title="Notices">
      <Alert color="lamp" variant="light" role="note" className="page-warning">
        Scripts of build-2 are not isolated: they can read each other's files.
      </Alert>
      <div className="note">The start script ends at once, so nothing serves.</div>
      <Problem problem={new ApiProblem(409, "conflict", "No release serves.")} />
      <Loaded query={failure}>{() => null}</Loaded>
    </Section>
  );
}

export function Waiting() {
  return (
    <Section title="Waiting and empty">
      <Panel title="On its way">
        <Rows />
      </Panel>
      <Panel>
        <Empty title="No releases yet" action={<Button variant="default">Deploy now</Button>}>
          A release is kept of each deploy that succeeds.
        </Empty>
      </Panel>
    </Section>
  );
}
