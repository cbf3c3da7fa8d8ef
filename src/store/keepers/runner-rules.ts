import { type RawBuilder, type SqlBool, sql } from "kysely";
import { type IsolationLevel, isolationLevels } from "../../model/execution.ts";
import { type ClaimRule, claimRules, type RunnersUnderRule } from "../../model/runner.ts";
import type { Dialect } from "../query/dialect.ts";
import { fixedQuery } from "../query/fixed-query.ts";
import type { Scope } from "../query/scope.ts";

/** What a task needs of its runner. */
export interface RunnerNeeds {
  isolation: RawBuilder<unknown>;
  /** Compared as a text: "1" or "true". */
  needsContainer: RawBuilder<unknown>;
  /** The only runner that may take it; null: any. */
  home: RawBuilder<unknown>;
}

const ofProject: RunnerNeeds = {
  isolation: sql.ref("projects.isolation"),
  needsContainer: sql`cast(projects.needs_container as text)`,
  home: sql.ref("projects.home_runner_id"),
};

/** Those of a task with an approval were pinned, and a move has a runner of its own. */
export function needsOfTask({ textIn }: Dialect, task: string): RunnerNeeds {
  const pinned = (name: string) => sql`cast(${textIn(`${task}.approval`, "pinned", name)} as text)`;
  return {
    isolation: sql`coalesce(${pinned("isolation")}, ${ofProject.isolation})`,
    needsContainer: sql`coalesce(${pinned("needsContainer")}, ${ofProject.needsContainer})`,
    home: sql`coalesce(${sql.ref(`${task}.target_runner_id`)}, ${ofProject.home})`,
  };
}

/** When each rule keeps `runner` from the tasks of a project. */
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
  wait_home: (_, { home }) => sql`${home} <> runner.id`,
} satisfies Record<ClaimRule, (dialect: Dialect, needs: RunnerNeeds) => RawBuilder<unknown>>;

function levelOf(isolation: RawBuilder<unknown>): RawBuilder<number> {
  const levels = isolationLevels.map((level, index) => sql`when ${sql.lit(level)} then ${sql.lit(index)}`);
  return sql`case ${isolation} ${sql.join(levels, sql` `)} end`;
}

/** No rule keeps `runner` from a task of `projects`, a project with its `groups`. Each rule is checked as early as possible. */
export function mayTake(dialect: Dialect, needs: RunnerNeeds): RawBuilder<SqlBool> {
  return sql.join(
    claimRules.map((rule) => sql`(${rules[rule](dialect, needs)}) is not true`),
    sql` and `,
  );
}

/**
 * The first rule that keeps `runner` from the tasks of `projects`, a project with its `groups`; null: it may take them.
 */
export function ruleAgainst(dialect: Dialect): RawBuilder<ClaimRule | null> {
  const cases = claimRules.map((rule) => sql`when ${rules[rule](dialect, ofProject)} then ${sql.lit(rule)}`);
  return sql`case ${sql.join(cases, sql` `)} end`;
}

interface RuleRow {
  id: number;
  rule: ClaimRule | null;
  names: string | null;
  last_seen_at: number | null;
  home: string | null;
  labels: string;
  isolation: IsolationLevel;
  group_name: string | null;
  group_labels: string | null;
}

/** For every accepted delivery, so its text is compiled once. */
const selectUnderRules = fixedQuery<{ project_ids: readonly number[]; runner_id: number | null }, RuleRow>(
  ["project_ids", "runner_id"],
  (_, { project_ids, runner_id }, dialect) =>
    sql<RuleRow>`select paired.id, paired.rule, paired.home_runner_id, paired.labels,
      paired.isolation, paired.group_name, paired.group_labels,
      string_agg(paired.name, ', ' order by paired.name) as names,
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

/** How the rules divide the runners for each of these projects; with `runnerId` as if there were no other runner. */
export async function runnersUnderRules(
  scope: Scope,
  projectIds: readonly number[],
  runnerId?: number,
): Promise<Record<number, RunnersUnderRule[]>> {
  if (projectIds.length === 0) return {};
  const rows = await selectUnderRules(scope, { project_ids: projectIds, runner_id: runnerId ?? null });
  const byProject = Map.groupBy(rows, ({ id }) => id);
  return Object.fromEntries([...byProject].map(([id, found]) => [id, found.map(readRow)]));
}

function readRow(row: RuleRow): RunnersUnderRule {
  const { rule, names, home, isolation, last_seen_at, labels, group_name, group_labels } = row;
  return {
    ...{ rule, names: names ?? "", home, isolation },
    lastSeenAt: last_seen_at === null ? null : new Date(last_seen_at),
    labels: JSON.parse(labels),
    group:
      group_name === null ? null : { name: group_name, labels: group_labels && JSON.parse(group_labels) },
  };
}
