import type { ReactNode } from "react";
import { Link } from "wouter";
import type { Project } from "../shapes.ts";
import { reasonIn } from "../text/reason-text.ts";
import { rich } from "../text/rich.ts";
import { t } from "../text/text.ts";
import { warningPlace } from "../warning-place.ts";

/** What the owner of a project should decide. That nothing is deployed yet is said first and never folded. */
export function ProjectNotes({ project }: { project: Project }) {
  return (
    <>
      <Notes notes={scriptNotes(project)} />
      <Notes notes={[...hostNotes(project), ...warnings(project)]} />
    </>
  );
}

/** One in a line, several folded into a line. */
function Notes({ notes }: { notes: Note[] }) {
  const [only] = notes;
  if (only === undefined) return null;
  if (notes.length === 1) return <div className="note">{only.content}</div>;
  return (
    <details className="note">
      <summary>{t("service.notes", { count: notes.length })}</summary>
      <ul className="plain-list">
        {notes.map(({ key, content }) => (
          <li key={key}>{content}</li>
        ))}
      </ul>
    </details>
  );
}

interface Note {
  key: string;
  content: ReactNode;
}

function scriptNotes({ id, pipeline: { build, deploy, start } }: Project): Note[] {
  const steps = [...build, ...deploy, ...(Array.isArray(start) ? start : [])];
  if (!Array.isArray(start) || steps.some(({ script }) => script !== "")) return [];
  const link = <Link href={`/projects/${id}/settings/pipeline`}>{t("project.noScriptsLink")}</Link>;
  return [{ key: "scripts", content: rich("project.noScripts", { link }) }];
}

/** What is as powerful as the runner itself. */
function hostNotes({ pipeline: { deploy, start } }: Project): Note[] {
  const started = Array.isArray(start)
    ? start
    : Object.entries(start).map(([name, { switchOnHost }]) => ({ name, host: switchOnHost }));
  const names = [...deploy, ...started].filter(({ host }) => host).map(({ name }) => name);
  if (names.length === 0) return [];
  return [{ key: "host", content: t("project.hostSteps", { names: names.join(", ") }) }];
}

/** Each with a link to its form. */
function warnings({ id, permission, warnings, warningParts }: Project): Note[] {
  if (permission !== "manage") return [];
  return warnings.map((warning, index) => {
    const parts = warningParts[index];
    const content = (
      <>
        {reasonIn(warning, parts)}{" "}
        <Link href={`/projects/${id}/settings/${warningPlace(parts)}`}>{t("project.toSettings")}</Link>
      </>
    );
    return { key: warning, content };
  });
}
