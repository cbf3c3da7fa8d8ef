import type { NewAuditEntry } from "../model/audit.ts";
import { type NewProject, type Project, type ProjectChange, projectRevision } from "../model/project.ts";
import { titlesOf } from "../model/sealed.ts";
import type { NewSecret } from "../model/settings/stored-secret.ts";
import { operation } from "../model/store.ts";
import { renderReason } from "../reason/reason.ts";
import { existing } from "../revision.ts";
import { claimPlaces } from "./claim-places.ts";
import { applyEnvironments } from "./environments.ts";

/** Ids of the projects whose names the caller may learn; undefined: all. */
type VisibleProjects = number[] | undefined;

interface ProjectUpdate {
  id: number;
  /** The revision that `change` is based on. */
  revision: string;
  change: ProjectChange;
  visible?: VisibleProjects;
  /** Encrypted values to store. */
  secrets: NewSecret[];
  /** Names of secrets that do not belong to the changed project. */
  forget: string[];
  /** The entry that is stored with the change, which adds the deleted secrets; null: none. */
  audited: NewAuditEntry | null;
}

/** Stores a new project and the audit entry about it. */
export const createProject = operation(
  "createProject",
  async (
    { projects, routePlaces, audit },
    { asked, visible, audited }: { asked: NewProject; visible: VisibleProjects; audited: NewAuditEntry },
  ): Promise<Project> => {
    const project = await projects.create(asked);
    await claimPlaces({ routePlaces, projects }, project, visible);
    await applyEnvironments({ routePlaces, projects }, project, visible);
    await audit.add({ ...audited, projectId: project.id });
    return project;
  },
);

interface Changed {
  project: Project;
  /** Names of the deleted secrets. */
  forgotten: string[];
  /** Environments that the project no longer names. They are to be deleted with their tasks. */
  removed: Project[];
}

/** Changes a project with its environments. Null: another change was stored first. */
export const changeProject = operation(
  "changeProject",
  async (
    { projects, routePlaces, audit, polls },
    { id, revision, change, visible, secrets, forget, audited }: ProjectUpdate,
  ): Promise<Changed | null> => {
    const before = existing(await projects.hold(id), "project", id);
    if (projectRevision(before) !== revision) return null;
    const project = (await projects.update(id, change)) ?? before;
    if (change.pipeline || change.environments)
      await claimPlaces({ routePlaces, projects }, project, visible);
    const removed = await applyEnvironments({ routePlaces, projects }, project, visible);
    // The tips are those of another repository.
    if (project.git.url !== before.git.url) await polls.forget(id);
    for (const { name, ciphertext } of secrets) await projects.setSecret(id, name, ciphertext);
    const forgotten: string[] = [];
    for (const name of forget) if (await projects.deleteSecret(id, name)) forgotten.push(name);
    const dropped = titlesOf(forgotten).map((title) => renderReason(title));
    const detail = { ...audited?.detail, ...(dropped.length > 0 ? { forgotten: dropped } : {}) };
    if (audited !== null) await audit.add({ ...audited, detail });
    return { project, forgotten, removed };
  },
);
