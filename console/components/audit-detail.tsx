import type { ReactNode } from "react";
import { Link } from "wouter";
import { fieldName, subjectName } from "../audit-name.ts";
import type { AuditEntry } from "../shapes.ts";
import { rich } from "../text/rich.ts";
import { t } from "../text/text.ts";
import { visible } from "../visible.ts";

/** Pages of the objects that a subject names by kind, where no id is known. */
const listOf: Record<string, string> = { user: "/users", group: "/groups", runner: "/runners" };

/** The object of an entry, with a link to its page. */
export function AuditSubject({ entry: { action, subject, projectId } }: { entry: AuditEntry }) {
  const text = subjectName(subject);
  const href = action.endsWith(".delete") ? null : hrefOf(subject, projectId);
  if (href === null) return <span className="foreign">{text}</span>;
  return (
    <Link href={href} className="foreign">
      {text}
    </Link>
  );
}

function hrefOf(subject: string, projectId: number | null): string | null {
  const [kind = "", id = ""] = subject.split(" ");
  if (/^\d+$/.test(id) && kind === "delivery") return `/deliveries/${id}`;
  if (/^\d+$/.test(id) && kind === "task") return `/tasks/${id}`;
  return projectId === null ? (listOf[kind] ?? null) : `/projects/${projectId}`;
}

/** The differences of a change, and the other facts of the entry. */
export function AuditDetail({ entry: { detail } }: { entry: AuditEntry }) {
  const { fields, from, to, ...facts } = detail;
  const isDifference = isRecord(from) && isRecord(to);
  const changed = isDifference ? [...new Set([...Object.keys(from), ...Object.keys(to)])] : [];
  const unexplained = (Array.isArray(fields) ? fields.map(String) : []).filter(
    (field) => !changed.includes(field),
  );
  const others = Object.entries(isDifference ? facts : { ...facts, ...onlyGiven({ from, to }) }).filter(
    ([name]) => !changed.includes(name),
  );
  return (
    <ul className="audit-detail">
      {isDifference &&
        changed.map((field) => (
          <li key={field}>
            {rich("audit.difference", {
              field: fieldName(field),
              from: <del>{valueText(from[field])}</del>,
              to: <ins>{valueText(to[field])}</ins>,
            })}
          </li>
        ))}
      {unexplained.length > 0 && (
        <li>
          {rich("audit.changedFields", {
            fields: unexplained.map(fieldName).join(t("words.listSeparator")),
          })}
        </li>
      )}
      {others.map(([name, value]) => (
        <li key={name}>{rich("audit.fact", { name: fieldName(name), value: linkedValue(name, value) })}</li>
      ))}
    </ul>
  );
}

const pageOf: Record<string, string> = {
  deliveryId: "/deliveries",
  taskId: "/tasks",
  projectId: "/projects",
};

function linkedValue(name: string, value: unknown): ReactNode {
  const page = pageOf[name];
  if (page === undefined || typeof value !== "number" || value === 0) return valueText(value);
  return <Link href={`${page}/${value}`}>{value}</Link>;
}

function valueText(value: unknown): string {
  if (value === undefined || value === null || value === "") return t("audit.nothing");
  if (typeof value === "boolean") return t(value ? "audit.yes" : "audit.no");
  if (Array.isArray(value)) return value.map(valueText).join(t("words.listSeparator")) || t("audit.nothing");
  if (!isRecord(value)) return visible(String(value));
  const parts = Object.entries(value).map(([name, each]) =>
    t("audit.fact", { name: fieldName(name), value: valueText(each) }),
  );
  return parts.join(t("words.listSeparator")) || t("audit.nothing");
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function onlyGiven(values: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}
