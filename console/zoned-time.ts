import { perLanguage } from "./text/text.ts";

const exact = perLanguage(
  (language) =>
    new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "long", hourCycle: "h23" }),
);
const ofDay = perLanguage(
  (language) =>
    new Intl.DateTimeFormat(language, {
      hour: "2-digit",
      minute: "2-digit",
      second: "2-digit",
      fractionalSecondDigits: 3,
      hourCycle: "h23",
    }),
);
const withZone = perLanguage(
  (language) => new Intl.DateTimeFormat(language, { timeZoneName: "shortOffset" }),
);

/** Date and time to the second, with the time zone. */
export function zonedText(ms: number): string {
  return exact().format(ms);
}

/** Time of day to the millisecond, in the zone of the browser. */
export function zonedTimeText(ms: number): string {
  return ofDay().format(ms);
}

/** `Europe/Berlin (GMT+1)`. */
export function zoneText(): string {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  const offset = withZone()
    .formatToParts(Date.now())
    .find(({ type }) => type === "timeZoneName")?.value;
  return offset === undefined || offset === timeZone ? timeZone : `${timeZone} (${offset})`;
}
