import { Database } from "bun:sqlite";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { newReason } from "../src/reason/reason.ts";
import { digits, type Figure, median, type Table } from "./benchmark.ts";
import { adminOf, startDeployRole } from "./delivery-servers.ts";

const records = 1_000_000;
const calls = 50;

/** Time to answer the first page of the delivery list at a million records, as an admin sees it. */
export async function measureList(dataDir: string): Promise<{ figure: Figure; table: Table }> {
  mkdirSync(dataDir, { recursive: true });
  await (await startDeployRole(dataDir)).stop();
  fill(join(dataDir, "slipway.db"));
  const server = await startDeployRole(dataDir);
  const admin = await adminOf(server.url);
  const queries = { "no filter": "", "one project": "projectId=7", "one status": "status=ignored" };
  const rows: string[][] = [];
  const times: number[] = [];
  for (const [name, query] of Object.entries(queries)) {
    const spent: number[] = [];
    for (let call = 0; call <= calls; call++) {
      const startedAt = performance.now();
      await admin("GET", `/api/webhooks/deliveries?${query}`);
      if (call > 0) spent.push(performance.now() - startedAt);
    }
    times.push(median(spent));
    rows.push([name, `${digits(median(spent))} ms`, `${digits(Math.max(...spent))} ms`]);
  }
  await server.stop();
  const [unfiltered = Number.NaN] = times;
  return {
    figure: {
      name: `first page of the list at ${records.toLocaleString("en-US")} records`,
      measured: `${digits(unfiltered)} ms`,
      toReach: "< 20 ms",
      isReached: unfiltered < 20,
    },
    table: { title: "First page of the delivery list", head: ["filter", "median", "slowest"], rows },
  };
}

/** A million records over thirty days and 100 projects, written straight into the file. */
function fill(file: string): void {
  const db = new Database(file);
  db.run("pragma foreign_keys = off");
  db.run(`insert into deliveries (project_id, project_name, provider, event, ref, ref_type, "commit", commit_message,
    author, status, reason, task_id, remote_ip, body, created_at, code, http_status, count, host_delivery_id, headers,
    normalized, trace)
    with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${records})
    select 1 + n % 100, 'project ' || (n % 100), 'github', 'push', 'main', 'branch', printf('%040x', n), 'Change ' || n,
    'ann', case n % 5 when 0 then 'ignored' else 'accepted' end, '${JSON.stringify(newReason("all_passed"))}', n, '192.0.2.7', '{}',
    ${Date.now()} - (${records} - n) * 2592, case n % 5 when 0 then 'skip_keyword' else 'accepted' end, 202, 1,
    'delivery-' || n, '{}', null, '[]' from numbers`);
  db.run("pragma wal_checkpoint(truncate)");
  db.close();
}
