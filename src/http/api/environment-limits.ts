import { noApproval } from "../../model/approval/deploy-rule.ts";
import { environmentFaults } from "../../model/environment/environment-faults.ts";
import type { Project } from "../../model/project.ts";
import type { Store } from "../../model/store.ts";
import type { ApiContext } from "./context.ts";
import { wrongFields } from "./field-faults.ts";
import { mayAskFor, mayWeaken } from "./project-limits.ts";
import { mustNotRun } from "./services.ts";

type Asked = Pick<Project, "groupId" | "environments">;

/** Throws a Fault if a project may not have these environments; `before` null: it is new. */
export async function mayHaveEnvironments(
  c: ApiContext,
  store: Store,
  after: Asked,
  before: Project | null,
): Promise<void> {
  const faults = environmentFaults(after.environments);
  if (faults.length > 0) throw wrongFields("body", faults);
  for (const environment of after.environments) {
    const held = before?.environments.find(({ name }) => name === environment.name);
    if (environment.labels !== null)
      await mayAskFor(
        c,
        store.groups,
        { ...after, labels: environment.labels },
        held?.labels ?? before?.labels ?? [],
      );
  }
  if (before === null) return;
  // What it serves itself would have no page any more, and would hold the domains of its environments.
  if (before.environments.length === 0 && after.environments.length > 0) await mustNotRun(store, before);
  for (const child of await store.projects.environmentsOf([before.id]))
    if (!after.environments.some(({ name }) => name === child.environment?.name))
      await mustNotRun(store, child);
}

/** Throws a Fault if a manager makes the rule of an environment weaker; a new one has at least that of the project. */
export function mayChangeRules(
  c: ApiContext,
  before: Pick<Project, "environments" | "deploy">,
  after: Pick<Project, "environments" | "deploy">,
): void {
  for (const { name, deploy: rule } of after.environments) {
    const held = before.environments.find((each) => each.name === name);
    mayWeaken(c, { deploy: held?.deploy ?? before.deploy }, rule ?? after.deploy, "environments");
  }
  // Without its rule, it could be made again.
  for (const { name, deploy: rule } of before.environments)
    if (rule !== null && !after.environments.some((each) => each.name === name))
      mayWeaken(c, { deploy: rule }, noApproval, "environments");
}
