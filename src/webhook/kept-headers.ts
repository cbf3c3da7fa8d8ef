import type { HeaderValues } from "./read-event.ts";

const alwaysKept = ["content-type", "content-encoding", "user-agent"];

/** Never a header that may carry a secret: only those named here, and the host's event and delivery id. */
export function keptHeaders(headers: HeaderValues, ...more: (readonly string[])[]): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const names of [alwaysKept, ...more])
    for (const name of names) {
      const value = headers.get(name);
      if (value !== null) kept[name.toLowerCase()] = value.slice(0, 300);
    }
  return kept;
}
