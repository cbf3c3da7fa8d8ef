import { type Kysely, type Migration, sql } from "kysely";

/** Routes of services: which project has which domain and path, what runners report of them, and their requests. */
const statements = [
  // Of two projects that ask for the same place at once, the database lets one have it.
  `create table route_places (
    domain text not null, path text not null, project_id bigint not null references projects (id) on delete cascade,
    primary key (domain, path))`,
  "create index route_places_project on route_places (project_id)",
  "alter table projects add column allowed_domains text",
  "alter table groups add column allowed_domains text",
  "alter table runners add column proxy text",
  "alter table runners add column proxy_note text not null default ''",
  "alter table services add column routes text not null default '[]'",
  `create table service_requests (
    project_id bigint not null references projects (id) on delete cascade, name text not null, at bigint not null,
    count bigint not null, success bigint not null, redirect bigint not null, client_error bigint not null,
    server_error bigint not null, p50_ms double precision not null, p95_ms double precision not null,
    primary key (project_id, name, at))`,
  "create index service_requests_at on service_requests (at)",
];

export function routes(): Migration {
  return {
    async up(db: Kysely<unknown>) {
      for (const statement of statements) await sql.raw(statement).execute(db);
    },
  };
}
