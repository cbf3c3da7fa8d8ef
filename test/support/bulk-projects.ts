import { openServerFile } from "./server-file.ts";

/**
 * Adds projects like the given one, in one statement beside the running server: a thousand requests would take longer
 * than the test of them.
 */
export function copyProject(dataDir: string, projectId: number, names: string[]): void {
  using file = openServerFile(dataDir);
  const columns = file.query("select name from pragma_table_info('projects')").all() as { name: string }[];
  const copied = columns.map(({ name }) => `"${name}"`).filter((name) => !['"id"', '"name"'].includes(name));
  file
    .query(
      `insert into projects (name, ${copied.join(", ")})
      select names.value, ${copied.join(", ")} from json_each(?1) as names, projects where projects.id = ?2`,
    )
    .run(JSON.stringify(names), projectId);
}
