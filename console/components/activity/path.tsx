import { Tooltip } from "@mantine/core";
import type { ActivityRow } from "../../shapes.ts";
import { t } from "../../text/text.ts";
import { toneOf } from "../state.tsx";

interface Step {
  name: "push" | "decision" | "deploy" | "serving";
  state: string;
  tone: (typeof toneOf)[keyof typeof toneOf];
  text: string;
}

/** How far a change got: push, decision, deploy, serving. A task that no delivery asked for begins with the deploy. */
export function Path({ row }: { row: ActivityRow }) {
  const steps = stepsOf(row);
  const text = steps
    .map((step) => t("tasks.stage", { stage: t(`activity.step_${step.name}`), state: step.text }))
    .join(" → ");
  return (
    <Tooltip label={text}>
      <span className="rail" role="img" aria-label={text}>
        {steps.map(({ name, tone, state }) => (
          <span key={name} data-tone={tone} data-state={state} />
        ))}
      </span>
    </Tooltip>
  );
}

function stepsOf({ delivery, task, isBuilt }: ActivityRow): Step[] {
  const own = isBuilt ? task : null;
  return [
    ...(delivery === null ? [] : [step("push", "success"), step("decision", delivery.status)]),
    step("deploy", own?.state ?? "pending"),
    ...(task?.serviceAction ? [] : [servingStep(own?.serves ?? null)]),
  ];
}

function step(name: Step["name"], state: keyof typeof toneOf): Step {
  return { name, state, tone: toneOf[state], text: t(`state.${state}`) };
}

/** A deploy that nothing has checked shows nothing about serving. */
function servingStep(serves: NonNullable<ActivityRow["task"]>["serves"]): Step {
  if (serves !== "checked" && serves !== "unchecked") return step("serving", serves ?? "pending");
  const tone = serves === "checked" ? "success" : "waiting";
  return { name: "serving", state: serves, tone, text: t(`activity.serves_${serves}`) };
}
