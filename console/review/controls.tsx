import {
  ActionIcon,
  Button,
  Checkbox,
  NumberInput,
  PasswordInput,
  SegmentedControl,
  Select,
  Switch,
  TagsInput,
  Textarea,
  TextInput,
} from "@mantine/core";
import { useState } from "react";
import { tell, warn } from "../act.ts";
import { ApiProblem } from "../api.ts";
import { AllowedDomains } from "../components/allowed-domains.tsx";
import { BarButton } from "../components/bar-button.tsx";
import { ConfirmButton } from "../components/confirm.tsx";
import { CopyBlock, CopyText } from "../components/copy-text.tsx";
import { FormButton } from "../components/form-modal.tsx";
import { Icon } from "../components/icon.tsx";
import { KeptTicks } from "../components/kept-ticks.tsx";
import { Panel } from "../components/page.tsx";
import { Permitted } from "../components/permission.tsx";
import { SaveBar } from "../components/save-bar.tsx";
import { ScriptEditor } from "../components/script-editor.tsx";
import { useUnsavedForm } from "../unsaved.ts";
import { Line, Section } from "./section.tsx";

const done = () => Promise.resolve({});
const refuse = () =>
  Promise.reject(
    new ApiProblem(422, "invalid", "The name is taken.", [{ field: "name", message: "shop is taken." }]),
  );

export function Buttons() {
  return (
    <Section title="Buttons and dialogs">
      <Line>
        <Button>Save the stages</Button>
        <Button variant="default">Cancel</Button>
        <Button variant="subtle">Show all</Button>
        <Button loading>Saving</Button>
        <Button disabled>Not now</Button>
      </Line>
      <Line>
        <Button size="compact-sm" variant="default">
          In a row
        </Button>
        <Button size="compact-sm" variant="subtle">
          Show 12 more
        </Button>
        <BarButton icon="download" onClick={() => {}}>
          In the bar of a log
        </BarButton>
        <BarButton icon="down" isPressed onClick={() => {}}>
          Pressed
        </BarButton>
        <ActionIcon variant="subtle" color="gray" size="lg" aria-label="Search">
          <Icon name="search" />
        </ActionIcon>
        <CopyText value="curl -fsSL https://slipway.example/install" label="Copy the command" />
      </Line>
      <Line>
        <ConfirmButton
          label="Roll back"
          title="Roll back to e30d59e?"
          confirm="Roll back"
          onConfirm={done}
          done="Rolling back"
        >
          It serves again what served before.
        </ConfirmButton>
        <ConfirmButton
          label="Delete the project"
          title="Delete shop?"
          confirm="Delete the project"
          typed="shop"
          isDanger
          onConfirm={refuse}
        >
          Its tasks, releases and secrets are deleted. This cannot be undone.
        </ConfirmButton>
        <FormButton title="Add a group" submit="Add it" initial={{ name: "" }} onSubmit={refuse} button={{}}>
          {({ text }) => <TextInput label="Name" {...text("name")} />}
        </FormButton>
        <Button variant="default" onClick={() => tell("The stages are saved.")}>
          Tell a success
        </Button>
        <Button variant="default" onClick={() => warn("The tasks continue, but no notification is sent.")}>
          Tell a warning
        </Button>
      </Line>
      <CopyBlock title="Several lines" value={"git remote add\ngit push"} label="Copy the commands" />
    </Section>
  );
}

export function Fields() {
  const [days, setDays] = useState<("mon" | "tue")[]>(["mon"]);
  const [domains, setDomains] = useState<string[] | null>(["shop.example"]);
  return (
    <Section title="Fields">
      <Panel title="A form" about="With faults of the server at their fields.">
        <div className="form">
          <TextInput label="Name" description="As it is shown in lists." defaultValue="shop" />
          <TextInput label="Clone URL" defaultValue="nowhere" error="must be an https or ssh address" />
          <PasswordInput label="Password" defaultValue="a good long sentence" />
          <Select label="Runner" data={["any", "build-2"]} defaultValue="any" />
          <NumberInput label="Seconds" defaultValue={60} min={0} />
          <TagsInput label="Branches" defaultValue={["main", "release/**"]} />
          <Textarea label="Reason" placeholder="Why now" />
          <ScriptEditor
            label="Script"
            value={"npm ci\nnpm run build"}
            error={undefined}
            onChange={() => {}}
          />
          <Switch label="Enabled" defaultChecked />
          <Checkbox label="Also for forks" />
          <KeptTicks
            label="Days"
            choices={[
              { value: "mon", label: "Monday" },
              { value: "tue", label: "Tuesday" },
            ]}
            value={days}
            onChange={setDays}
            why="At least one day stays."
          />
          <AllowedDomains
            domains={domains}
            about="Domains that its routes may use."
            errorOf={() => undefined}
            onChange={setDomains}
          />
          <SegmentedControl aria-label="Show" data={["Changes", "Stopped", "All"]} />
        </div>
      </Panel>
      <Panel title="The same for a viewer">
        <Permitted permission="view">
          <div className="form">
            <TextInput label="Address" defaultValue="https://shop.example" />
          </div>
        </Permitted>
      </Panel>
      <Unsaved />
    </Section>
  );
}

function Unsaved() {
  const [count, setCount] = useState(0);
  const discard = () => setCount(0);
  useUnsavedForm({ count, isSaving: false, save: discard, discard });
  return (
    <Line>
      <Button variant="default" onClick={() => setCount(2)}>
        Change two fields
      </Button>
      <SaveBar />
    </Line>
  );
}
