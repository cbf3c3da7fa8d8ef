/** Sections of a project's settings, in the order of the navigation: `/projects/7/settings/stages`. */
export const settingsSections = [
  "general",
  "stages",
  "variables",
  "execution",
  "members",
  "notifications",
  "commit-status",
  "delete",
] as const;

export type SettingsSection = (typeof settingsSections)[number];

export function isSettingsSection(name: string): name is SettingsSection {
  return settingsSections.some((section) => section === name);
}
