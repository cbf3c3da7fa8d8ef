/** What returns with a release besides its commit. */
export const release = {
  deployed: "deployed {when}",
  takesBack: "Changes since then, which go away",
  goesAway: "These commits go away:",
  settings: "Settings that differ",
  setting: "Setting",
  settingThen: "With this release",
  settingNow: "In the project now",
  settingNone: "not set",
  networkOf: "Network of {stage}",
  settingsSame:
    "Its variables, scripts and checks are those that the project has now. Secrets are those of today.",
  settingsReturn: "These settings return with the release; the project's own are not used.",
  settingsKeep:
    "Secrets are those of today. To deploy the commit with the settings that the project has now, use Run again on its task.",
  settingsUsed:
    "This rollback uses the variables, scripts and checks of task {id}, and the secrets of today. The project has other settings now:",
} as const;
