import { type RawBuilder, type SqlBool, sql } from "kysely";
import { type IsolationLevel, isolationLevels } from "../../model/execution.ts";
import { seenWithinMs } from "../../model/runner.ts";
import type { TaskWait } from "../../model/task.ts";
import { newReason, type Sentence } from "../../reason/reason.ts";
import type { Dialect } from "../query/dialect.ts";
import { fixedQuery } from "../query/fixed-query.ts";
import type { Scope } from "../query/scope.ts";

/** What a task needs of its runner. */
export interface RunnerNeeds {
  isolation: RawBuilder<unknown>;
  /** Compared as a text: "1" or "true". */
  needsContainer: RawBuilder<unknown>;
}

const ofProject: RunnerNeeds = {
  isolation: sql.ref("projects.isolation"),
  needsContainer: sql`cast(projects.needs_container as text)`,
};

/** Those of a task with an approval were pinned. `approval` is its column. */
export function needsOfTask({ textIn }: Dialect, approval: string): RunnerNeeds {
  const pinned = (name: string) => sql`cast(${textIn(approval, "pinned", name)} as text)`;
  return {
    isolation: sql`coalesce(${pinned("isolation")}, ${ofProject.isolation})`,
    needsContainer: sql`coalesce(${pinned("needsContainer")}, ${ofProject.needsContainer})`,
  };
}

/** The rules that keep `runner` from the tasks of a project. If several apply, the first is shown. */
const rules = {
  wait_group_labels: ({ isSubset }: Dialect) => sql`groups.labels is not null
    and not ${isSubset("projects.labels", sql.ref("groups.labels"))}`,
  // A runner may offer fewer labels than registered, never more, because tasks carry secrets.
  wait_no_labels: ({ isSubset }) => sql`(runner.id is null and projects.labels <> '[]')
    or not ${isSubset("projects.labels", sql.ref("runner.labels"))}
    or (runner.offered_labels is not null
      and not ${isSubset("projects.labels", sql.ref("runner.offered_labels"))})`,
  wait_disabled: () => sql`runner.disabled = 1`,
  wait_unlabelled: () => sql`projects.labels = '[]' and runner.labels <> '[]' and runner.also_unlabelled = 0`,
  wait_bound: ({ isListed }) =>
    sql`runner.group_ids <> '[]' and not ${isListed("projects.group_id", "runner.group_ids")}`,
  wait_isolation: (_, { isolation }) =>
    sql`${levelOf(sql.ref("runner.reported_isolation"))} < ${levelOf(isolation)}`,
  // What a runner reports cannot be verified, so that an administrator must believe it.
  wait_isolation_unconfirmed: (_, { isolation }) =>
    sql`${levelOf(sql.ref("runner.trusted_isolation"))} < ${levelOf(isolation)}`,
  // A runner without containers would ignore an image.
  wait_container: (_, { needsContainer }) =>
    sql`runner.containers = 0 and ${needsContainer} in ('1', 'true')`,
  // A project stays with the runner that holds its releases.
  wait_home: () => sql`projects.home_runner_id <> runner.id`,
} satisfies Record<string, (dialect: Dialect, needs: RunnerNeeds) => RawBuilder<unknown>>;

type Rule = keyof typeof rules;
const order = Object.keys(rules) as Rule[];

function levelOf(isolation: RawBuilder<unknown>): RawBuilder<number> {
  const levels = isolationLevels.map((level, index) => sql`when ${sql.lit(level)} then ${sql.lit(index)}`);
  return sql`case ${isolation} ${sql.join(levels, sql` `)} end`;
}

/** No rule keeps `runner` from a task of `projects`, a project with its `groups`. Each rule is checked as early as possible. */
export function mayTake(dialect: Dialect, needs: RunnerNeeds): RawBuilder<SqlBool> {
  return sql.join(
    order.map((rule) => sql`(${rules[rule](dialect, needs)}) is not true`),
    sql` and `,
  );
}

/**
 * The first rule that keeps `runner` from the tasks of `projects`, a project with its `groups`; null: it may take them.
 * The rule that stopped the last runner is why a task waits.
 */
export function ruleAgainst(dialect: Dialect): RawBuilder<Rule | null> {
  const cases = order.map((rule) => sql`when ${rules[rule](dialect, ofProject)} then ${sql.lit(rule)}`);
  return sql`case ${sql.join(cases, sql` `)} end`;
}

/** The runners that one rule keeps from a project; with `rule` null those that may take its tasks. */
interface KeptAway {
  id: number;
  rule: Rule | null;
  /** Their names. */
  runners: string | null;
  last_seen_at: number | null;
  /** The name of the runner that holds the project's releases, if it is one of them. */
  home: string | null;
  home_runner_id: number | null;
  labels: string;
  isolation: IsolationLevel;
  group_name: string | null;
  group_labels: string | null;
}

/** For every accepted delivery, so its text is compiled once. */
const selectKeptAway = fixedQuery<{ project_ids: readonly number[]; runner_id: number | null }, KeptAway>(
  ["project_ids", "runner_id"],
  (_, { project_ids, runner_id }, dialect) =>
    sql<KeptAway>`select paired.id, paired.rule, paired.home_runner_id, paired.labels,
      paired.isolation, paired.group_name, paired.group_labels,
      string_agg(paired.name, ', ' order by paired.name) as runners,
      max(paired.last_seen_at) as last_seen_at,
      max(case when paired.runner_id = paired.home_runner_id then paired.name end) as home
    from (select projects.id, projects.home_runner_id, projects.labels, projects.isolation,
        groups.name as group_name, groups.labels as group_labels,
        runner.id as runner_id, runner.name, runner.last_seen_at, ${ruleAgainst(dialect)} as rule
      from projects left join groups on groups.id = projects.group_id
      left join runners as runner on runner.id = coalesce(cast(${runner_id} as bigint), runner.id)
      where ${dialect.isAmong("projects.id", project_ids)}) as paired
    group by 1, 2, 3, 4, 5, 6, 7`,
);

/** Why the tasks of these projects wait, by project; with `runnerId` as if there were no other runner. */
export async function waitsOf(
  scope: Scope,
  projectIds: readonly number[],
  now: Date,
  runnerId?: number,
): Promise<Record<number, TaskWait>> {
  if (projectIds.length === 0) return {};
  const rows = await selectKeptAway(scope, { project_ids: projectIds, runner_id: runnerId ?? null });
  const waits: Record<number, TaskWait> = {};
  for (const [id, kept] of Map.groupBy(rows, (row) => row.id)) {
    const wait = waitOf(kept, now);
    if (wait !== null) waits[id] = wait;
  }
  return waits;
}

const placeOf = (rule: Rule | null) => (rule === null ? order.length : order.indexOf(rule));

function waitOf(kept: KeptAway[], now: Date): TaskWait | null {
  const [last] = kept.toSorted((a, b) => placeOf(b.rule) - placeOf(a.rule));
  if (last === undefined) return null;
  const isSeen = last.last_seen_at !== null && now.getTime() - last.last_seen_at < seenWithinMs;
  if (last.rule === null && isSeen) return null;
  const home = kept.find((row) => row.home !== null);
  const why = last.rule === null ? awayText(last) : ruleText(last.rule, last, home);
  return { reason: newReason("waiting", { why }), isLasting: last.rule !== null };
}

function awayText({ home, labels }: KeptAway): Sentence {
  if (home !== null) return newReason("wait_home_away", { runner: home });
  if (labels === "[]") return newReason("wait_not_connected");
  return newReason("wait_labels_not_connected", { labels: listed(labels) });
}

function ruleText(rule: Rule, { isolation, ...row }: KeptAway, home: KeptAway | undefined): Sentence {
  const labels = listed(row.labels);
  const runners = row.runners ?? "";
  switch (rule) {
    case "wait_group_labels": {
      const allowed = parsed(row.group_labels ?? "[]");
      const refused = parsed(row.labels).filter((label) => !allowed.includes(label));
      return newReason(rule, { group: row.group_name ?? "", labels: refused.join(", ") });
    }
    case "wait_no_labels":
      return newReason(rule, { labels });
    case "wait_unlabelled":
    case "wait_container":
      return newReason(rule);
    case "wait_bound":
      return labels === "" ? newReason(rule) : newReason("wait_bound_labels", { labels });
    case "wait_isolation":
      return newReason(rule, { isolation, setting: isolation === "sandbox" ? "isolation" : "image" });
    case "wait_isolation_unconfirmed":
      return newReason(rule, { isolation, runners });
    case "wait_disabled":
      return home?.rule === rule
        ? newReason("wait_home_disabled", { runner: home.home ?? "" })
        : newReason(rule, { runners });
    case "wait_home":
      if (home === undefined) return newReason("wait_home_deleted", { runner: row.home_runner_id ?? 0 });
      return newReason(home.rule === "wait_disabled" ? "wait_home_disabled" : "wait_home_unfit", {
        runner: home.home ?? "",
      });
  }
}

const parsed = (json: string) => JSON.parse(json) as string[];
const listed = (json: string) => parsed(json).join(", ");
