/** Names of the hidden commands of processes that a runner starts: its guard, see lifeline.ts, and the reapers of its runs. */
export const guardCommand = "runner-guard";
export const reaperCommand = "runner-reaper";
