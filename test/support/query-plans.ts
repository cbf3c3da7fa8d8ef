import pg from "pg";
import type { Keepers } from "../../src/model/store.ts";
import { buildKeepers } from "../../src/store/keepers/keepers.ts";
import { type Dialect, postgresDialect, sqliteDialect } from "../../src/store/query/dialect.ts";
import { databaseOver, type Execute, type Query } from "../../src/store/query/kysely-dialect.ts";
import { connect } from "../../src/store/sqlite/sqlite-connection.ts";

/** The plan of a query: the tables that are scanned without an index, and the number of rows read. */
interface Plan {
  text: string;
  scans: string[];
  touchedRows: number;
}

export interface Planner {
  dialect: Dialect;
  run(statement: string): Promise<void>;
  explain(query: Query): Promise<Plan>;
  series(count: number): string;
  close(): Promise<void>;
}

export function openPlanner(url: string): Promise<Planner> {
  return url.startsWith("sqlite:") ? Promise.resolve(sqlitePlanner(url)) : postgresPlanner(url);
}

function sqlitePlanner(url: string): Planner {
  const file = connect(url.slice("sqlite:".length));
  return {
    dialect: sqliteDialect,
    run: async (statement) => file.run(statement),
    async explain({ sql, parameters }) {
      const { rows } = file.execute<{ detail: string }>({ sql: `explain query plan ${sql}`, parameters });
      const lines = rows.map((row) => row.detail);
      // Without a condition a table is read from its newest row up to the limit.
      const isWalk = !sql.includes(" where ") || / from "tasks" order by "tasks"\."id" desc limit /.test(sql);
      const scans = isWalk
        ? []
        : lines.filter((line) => /^SCAN (deliveries|tasks|audit|own)\b(?!.* USING)/.test(line));
      return { text: lines.join("\n"), scans, touchedRows: 0 };
    },
    series: (count) =>
      `(with recursive s(i) as (select 1 union all select i + 1 from s where i < ${count}) select i from s)`,
    close: async () => file.close(),
  };
}

interface PostgresNode {
  "Node Type": string;
  "Relation Name"?: string;
  "Actual Rows": number;
  "Actual Loops": number;
  "Rows Removed by Filter"?: number;
  Plans?: PostgresNode[];
}

async function postgresPlanner(url: string): Promise<Planner> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return {
    dialect: postgresDialect,
    run: async (statement) => void (await client.query(statement)),
    async explain({ sql, parameters }) {
      const { rows } = await client.query(`explain (analyze, format json) ${sql}`, [...parameters]);
      const root = rows[0]["QUERY PLAN"][0].Plan as PostgresNode;
      const nodes = flatten(root);
      return {
        text: JSON.stringify(root, null, 1),
        scans: nodes
          .filter((node) => node["Node Type"].endsWith("Seq Scan"))
          .map((node) => node["Relation Name"] ?? "")
          .filter((table) => ["deliveries", "tasks", "audit"].includes(table)),
        touchedRows: Math.max(
          ...nodes.map(
            (node) => (node["Actual Rows"] + (node["Rows Removed by Filter"] ?? 0)) * node["Actual Loops"],
          ),
        ),
      };
    },
    series: (count) => `generate_series(1, ${count}) as s(i)`,
    close: () => client.end(),
  };
}

function flatten(node: PostgresNode): PostgresNode[] {
  return [node, ...(node.Plans ?? []).flatMap(flatten)];
}

/** Keepers whose queries are recorded instead of run. */
export function notedQueries(dialect: Dialect): { keepers: Keepers; taken(): Query[] } {
  let noted: Query[] = [];
  const execute: Execute = async <R>(query: Query) => {
    noted.push(query);
    const isOfGroup = query.sql.includes('"group_id" = ');
    // A claim counts what runners hold, and reads a task.
    const isCount = query.sql.includes("count(") && !query.sql.includes("queued.*");
    const rows = isOfGroup
      ? [1, 2, 3, 4, 5].map((id) => ({ id }))
      : isCount
        ? [{ total: 0, pipeline: "{}" }]
        : [];
    return { rows: rows as R[], changes: 0, newId: 0 };
  };
  return {
    keepers: buildKeepers({ db: databaseOver(dialect, execute), dialect, execute }),
    taken() {
      const taken = noted;
      noted = [];
      return taken;
    },
  };
}
