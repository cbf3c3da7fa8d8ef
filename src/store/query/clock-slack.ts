/**
 * Times further in the future than this were recorded before a clock was set back. The clocks of instances differ much
 * less.
 */
export const clockSlackMs = 5_000;
