import { Fault } from "../errors.ts";
import { type Project, type ProjectChange, type ProjectSecret, projectRevision } from "../model/project.ts";
import { operation } from "../model/store.ts";
import { reasonText } from "../reason/reason.ts";

interface ProjectUpdate {
  id: number;
  /** The revision that `change` is based on. */
  revision: string;
  change: ProjectChange;
  /** Encrypted values to store. */
  secrets: ProjectSecret[];
  /** Names of secrets that do not belong to the changed project. */
  forget: string[];
}

/** The project and the names of the deleted secrets; null: another change was stored first. */
export const changeProject = operation(
  "changeProject",
  async (
    { projects },
    { id, revision, change, secrets, forget }: ProjectUpdate,
  ): Promise<{ project: Project; forgotten: string[] } | null> => {
    const before = await projects.hold(id);
    if (!before) throw new Fault("not_found", reasonText("none", { noun: "project", id }));
    if (projectRevision(before) !== revision) return null;
    const project = (await projects.update(id, change)) ?? before;
    for (const { name, ciphertext } of secrets) await projects.setSecret(id, name, ciphertext);
    const forgotten: string[] = [];
    for (const name of forget) if (await projects.deleteSecret(id, name)) forgotten.push(name);
    return { project, forgotten };
  },
);
