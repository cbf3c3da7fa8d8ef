/** 4001, 4005: reconnect with a new code · other 40xx: stop · 42xx and 1012: reconnect within a second · all others: back off. */
export function closeRuleOf(code: number): "newCode" | "stop" | "backOff" | "soon" {
  if (code === 4001 || code === 4005) return "newCode";
  if (code >= 4000 && code < 4100) return "stop";
  if (code === 1012 || (code >= 4200 && code < 4300)) return "soon";
  return "backOff";
}
