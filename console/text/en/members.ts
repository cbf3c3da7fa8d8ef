/** Members of a project or group. */
export const members = {
  remove: "Remove",
  removeNamed: "Remove {name}",
  removeQuestion: "Remove {name}?",
  removeConfirm: "Remove the member",
  removeFromProject: "This user can no longer see or deploy the project, unless a group allows it.",
  removeFromGroup:
    "This user can no longer see or deploy the projects of the group, unless a project allows it.",
  removed: "The member was removed.",
} as const;
