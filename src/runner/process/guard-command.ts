/** Name of the hidden command that runs the guard of a runner, see lifeline.ts. */
export const guardCommand = "runner-guard";
