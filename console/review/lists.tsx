import { Row } from "../components/activity/row.tsx";
import { ApprovalPanel } from "../components/approval-panel.tsx";
import { Environments } from "../components/environments.tsx";
import { Needs } from "../components/home/needs.tsx";
import { ProjectRows } from "../components/home/project-rows.tsx";
import { ItemTable } from "../components/list.tsx";
import { Panel } from "../components/page.tsx";
import { Pages } from "../components/pages.tsx";
import { Series } from "../components/series.tsx";
import { ServiceList } from "../components/service-list.tsx";
import { ServiceRoutes } from "../components/service-routes.tsx";
import { StateLabel } from "../components/state.tsx";
import { TaskFacts } from "../components/task-facts.tsx";
import { Trace } from "../components/trace.tsx";
import { MessageTimeline } from "../pages/push/message-timeline.tsx";
import { message } from "./samples/message.ts";
import { project } from "./samples/project.ts";
import { homeRows, needs, requests } from "./samples/services.ts";
import { failedTask, rows, task, trace, waitingTask } from "./samples/tasks.ts";
import { Section } from "./section.tsx";

const people = ["ann", "bo", "a-user-with-a-name-that-no-column-was-made-for"].map((name, id) => ({
  id,
  name,
}));

export function Lists() {
  return (
    <Section title="Lists">
      <Needs needs={needs} isAdmin />
      <Needs needs={[]} isAdmin />
      <Panel title="Projects" isFlush>
        <ProjectRows rows={homeRows} groups={[{ id: 1, name: "Storefront" }]} />
      </Panel>
      <Panel title="Activity" isFlush>
        <ol className="activity" aria-label="Activity">
          {rows.map((row) => (
            <Row key={row.delivery?.id} row={row} hasProject onSelect={() => {}} />
          ))}
        </ol>
      </Panel>
      <Panel title="A table" isFlush>
        <ItemTable
          label="People"
          items={people}
          onOpen={() => {}}
          columns={[
            { title: "Name", cell: ({ name }) => <a href="#person">{name}</a> },
            { title: "State", cell: () => <StateLabel state="serving" /> },
            { title: "Since", cell: () => "3 d ago", visibleFrom: "md" },
          ]}
        />
        <Pages total={40} page={2} pageSize={20} onPage={() => {}} />
      </Panel>
    </Section>
  );
}

export function Services() {
  return (
    <Section title="Services and environments">
      <ServiceList project={project} />
      <Environments project={project} />
      <ServiceRoutes projectId={project.id} name="web" />
    </Section>
  );
}

export function Courses() {
  const axis = { endMs: Date.now(), spanMs: 3_600_000 };
  return (
    <Section title="Courses of events">
      <ApprovalPanel task={waitingTask} mayAnswer />
      <TaskFacts task={task} isFinished serving="serving" />
      <TaskFacts task={failedTask} isFinished serving={null} />
      <Panel title="Why a delivery was ignored">
        <Trace steps={trace} />
      </Panel>
      <Panel title="What became of a message">
        <MessageTimeline message={message} nameOf={(instance) => instance} />
      </Panel>
      <Panel title="Amounts over time">
        <Series
          title="Requests"
          figures="427"
          parts={[requests]}
          amountOf={({ count }) => count}
          kind="connections"
          axis={axis}
        />
        <Series
          title="Errors"
          figures="3"
          parts={[requests]}
          amountOf={({ serverError }) => serverError}
          kind="errors"
          axis={axis}
        />
      </Panel>
    </Section>
  );
}
