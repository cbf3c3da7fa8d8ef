import { queryOptions } from "@tanstack/react-query";
import type { InferRequestType } from "hono/client";
import { warn } from "./act.ts";
import { answerOf, api, ifMatch, queryClient } from "./api.ts";
import { type SettingsForm, useSettingsDraft } from "./draft.ts";
import type { Project } from "./shapes.ts";
import { reasonIn } from "./text/reason-text.ts";

export function projectQuery(id: number) {
  return queryOptions({
    queryKey: ["project", id],
    queryFn: () => answerOf(api.projects[":id"].$get({ param: { id } })),
  });
}

export type ProjectChange = InferRequestType<(typeof api.projects)[":id"]["$patch"]>["json"];

/** How forms read and save the settings of a project. */
export function projectForm(project: Project): SettingsForm<Project, ProjectChange> {
  const { id } = project;
  return {
    source: project,
    reread: () => queryClient.fetchQuery({ ...projectQuery(id), staleTime: 0 }),
    save: async (json, revision) => {
      const header = ifMatch(revision);
      const saved = await answerOf(api.projects[":id"].$patch({ param: { id }, header, json }));
      for (const [index, warning] of saved.warnings.entries())
        warn(reasonIn(warning, saved.warningParts[index]));
      return saved;
    },
    refresh: ["project", "projects"],
  };
}

/** A form over some fields of a project. */
export function useProjectDraft<T extends object>(
  project: Project,
  select: (project: Project) => T,
  changeOf: (changes: Partial<T>) => ProjectChange,
) {
  return useSettingsDraft(projectForm(project), select, changeOf);
}
