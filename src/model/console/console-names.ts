/**
 * User ids and channels that belong to the console of the deploy service. Applications share the gateway with it, so
 * only connections of the console may have them.
 */
export const consoleUserPrefix = "slipway:";
export const consoleChannelPrefix = "private-project-";

export function consoleUserId(userId: number): string {
  return `${consoleUserPrefix}${userId}`;
}

export function isConsoleUser(userId: string): boolean {
  return userId.startsWith(consoleUserPrefix);
}

export function projectChannel(projectId: number): string {
  return `${consoleChannelPrefix}${projectId}`;
}

/** Of the messages and the log of one task. */
export function taskChannel(projectId: number, taskId: number): string {
  return `${projectChannel(projectId)}/task-${taskId}`;
}

export function isConsoleChannel(channel: string): boolean {
  return channel.startsWith(consoleChannelPrefix);
}

/** Whether a message with this target is for the console. */
export function isConsoleTarget(targetType: string, target: string): boolean {
  if (targetType === "all") return false;
  return targetType === "channel" ? isConsoleChannel(target) : isConsoleUser(target);
}

/** The channels of the console's live connection: those of the projects that its user may view. */
export function channelsOfProjects(projectIds: readonly number[] | "all"): string[] {
  if (projectIds === "all") return [`${consoleChannelPrefix}*`, `${consoleChannelPrefix}*/*`];
  return projectIds.flatMap((id) => [projectChannel(id), `${projectChannel(id)}/*`]);
}

/** The deploy service identifies itself with this header, so that no application uses the console's names by accident. */
export const deployServiceHeader = { "x-slipway-service": "deploy" } as const;
