import { complainOf, tell } from "./act.ts";
import { plainText } from "./ansi.ts";
import { copyText } from "./copy.ts";
import type { LogSource } from "./log-lines.ts";
import { t } from "./text/text.ts";

/** The lines as plain text, without colour codes. */
function plainLog(log: LogSource, write: (index: number, text: string, stage: string) => string): string {
  const parts: string[] = [];
  for (const { stage, from, to } of log.segments)
    for (let index = from; index < to; index++)
      parts.push(`${write(index, plainText(log.textAt(index)), stage)}\n`);
  return parts.join("");
}

export async function copyLog(log: LogSource): Promise<void> {
  if (await copyText(plainLog(log, (_, text) => text))) tell(t("task.copied"));
  else complainOf(t("task.copyFailed"));
}

export function downloadLog(
  log: LogSource,
  name: string,
  write: (index: number, text: string, stage: string) => string,
): void {
  const address = URL.createObjectURL(new Blob([plainLog(log, write)], { type: "text/plain" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  URL.revokeObjectURL(address);
}
