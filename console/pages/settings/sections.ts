/** Sections of a project's settings, in the order of the navigation: `/projects/7/settings/pipeline`. */
export const settingsSections = [
  "source",
  "rules",
  "pipeline",
  "environments",
  "variables",
  "access",
  "notifications",
] as const;

/** What belongs to all environments is a setting of their project. */
export const environmentSections = ["variables"] as const satisfies (typeof settingsSections)[number][];

export type SettingsSection = (typeof settingsSections)[number];

export function isSettingsSection(name: string): name is SettingsSection {
  return settingsSections.some((section) => section === name);
}
