import { shortCommit as shortened } from "../src/model/git/short-commit.ts";
import { perLanguage, t } from "./text/text.ts";

/** Times, durations and sizes in the language of the page. Pure: the moment of reading is an argument. */

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

const relative = perLanguage(
  (language) => new Intl.RelativeTimeFormat(language, { numeric: "auto", style: "short" }),
);
const exact = perLanguage(
  (language) => new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "medium" }),
);
const toTheMinute = perLanguage(
  (language) => new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" }),
);
const clock = perLanguage(
  (language) => new Intl.DateTimeFormat(language, { hour: "2-digit", minute: "2-digit" }),
);
const secondClock = perLanguage((language) => new Intl.DateTimeFormat(language, { timeStyle: "medium" }));
const oneDigit = perLanguage(
  (language) => new Intl.NumberFormat(language, { minimumFractionDigits: 1, maximumFractionDigits: 1 }),
);
const whole = perLanguage((language) => new Intl.NumberFormat(language));
const list = perLanguage((language) => new Intl.ListFormat(language, { type: "unit", style: "narrow" }));
const units = perLanguage((language) => {
  const format = (unit: string) =>
    new Intl.NumberFormat(language, {
      style: "unit",
      unit,
      unitDisplay: "short",
      maximumFractionDigits: 1,
    });
  return { second: format("second"), minute: format("minute"), hour: format("hour") };
});

/** `just now`, `4 min. ago`, `3 hr. ago`, `2 days ago`; `in 20 sec` for the near future. */
export function relativeText(iso: string, nowMs: number): string {
  const agoMs = nowMs - Date.parse(iso);
  if (agoMs < -1500) return t("time.inFuture", { duration: durationText(-agoMs) });
  if (agoMs < 10_000) return t("time.justNow");
  if (agoMs < minuteMs) return relative().format(-Math.floor(agoMs / 1000), "second");
  if (agoMs < hourMs) return relative().format(-Math.floor(agoMs / minuteMs), "minute");
  if (agoMs < dayMs) return relative().format(-Math.floor(agoMs / hourMs), "hour");
  return relative().format(-Math.floor(agoMs / dayMs), "day");
}

/** `0.4 sec`, `12 sec`, `3 min 20 sec`, `2 hr 5 min`. */
export function durationText(ms: number): string {
  const { second, minute, hour } = units();
  if (ms < 9950) return second.format(Math.round(Math.max(0, ms) / 100) / 10);
  if (ms < minuteMs) return second.format(Math.round(ms / 1000));
  const seconds = Math.round(ms / 1000);
  if (ms < hourMs) return joined(minute, Math.floor(seconds / 60), second, seconds % 60);
  return joined(hour, Math.floor(seconds / 3600), minute, Math.floor((seconds % 3600) / 60));
}

/** The same without seconds from a minute on, where there is little room. */
export function roughDurationText(ms: number): string {
  return durationText(ms < minuteMs ? ms : Math.floor(ms / minuteMs) * minuteMs);
}

function joined(
  large: Intl.NumberFormat,
  largeCount: number,
  small: Intl.NumberFormat,
  smallCount: number,
): string {
  const first = large.format(largeCount);
  return smallCount === 0 ? first : list().format([first, small.format(smallCount)]);
}

/** Local date and time to the second, for titles of relative times. */
export function exactText(iso: string): string {
  return exact().format(new Date(iso));
}

/** Local date and time to the minute. */
export function minuteText(iso: string): string {
  return toTheMinute().format(new Date(iso));
}

/** Local time of day to the minute. */
export function clockText(ms: number): string {
  return clock().format(new Date(ms));
}

/** Local time of day to the second. */
export function secondText(ms: number): string {
  return secondClock().format(new Date(ms));
}

/** A number with one digit after the point. */
export function decimalText(value: number): string {
  return oneDigit().format(value);
}

export function countText(value: number): string {
  return whole().format(value);
}

/** In powers of 1,024, as the limits of projects and runners. */
export function sizeText(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 ** 2) return `${decimalText(bytes / 1024)} KB`;
  if (bytes < 1024 ** 3) return `${decimalText(bytes / 1024 ** 2)} MB`;
  return `${decimalText(bytes / 1024 ** 3)} GB`;
}

/** `refs/heads/main` → `main`. */
export function shortRef(ref: string): string {
  return ref.replace(/^refs\/(heads|tags)\//, "");
}

export function shortCommit(commit: string | null): string {
  return commit === null ? "" : shortened(commit);
}
