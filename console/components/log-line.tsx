import type { ReactNode } from "react";
import { type AnsiStyle, piecesOf } from "../ansi.ts";

/** The text of one log line with its colours; what is searched for is marked, also across colours. */
export function LogText({ text, marked }: { text: string; marked: string }) {
  const pieces = piecesOf(text);
  const found = marked === "" ? [] : matchesOf(pieces.map((piece) => piece.text).join(""), marked);
  let start = 0;
  return pieces.map((piece) => {
    const from = start;
    start += piece.text.length;
    return (
      <span
        key={piece.at}
        {...(piece.style === null ? {} : { className: classesOf(piece.style), style: colorsOf(piece.style) })}
      >
        {found.length === 0 ? piece.text : partsOf(piece.text, from, found)}
      </span>
    );
  });
}

/** Where the wanted text starts, and its length. */
function matchesOf(text: string, wanted: string): { start: number; end: number }[] {
  const lower = text.toLowerCase();
  const needle = wanted.toLowerCase();
  const found = [];
  for (let at = lower.indexOf(needle); at >= 0; at = lower.indexOf(needle, at + needle.length))
    found.push({ start: at, end: at + needle.length });
  return found;
}

/** A piece that starts at `from` of its line, cut at the edges of the matches. */
function partsOf(text: string, from: number, found: { start: number; end: number }[]): ReactNode[] {
  const parts: ReactNode[] = [];
  let at = 0;
  for (const match of found) {
    const start = Math.max(at, match.start - from);
    const end = Math.min(text.length, match.end - from);
    if (start >= end) continue;
    parts.push(text.slice(at, start), <mark key={start}>{text.slice(start, end)}</mark>);
    at = end;
  }
  parts.push(text.slice(at));
  return parts;
}

function classesOf(style: AnsiStyle): string {
  const classes = [
    style.isBold && "ansi-bold",
    style.isFaint && "ansi-faint",
    style.isItalic && "ansi-italic",
    style.isUnderlined && "ansi-underlined",
  ];
  return classes.filter((name) => typeof name === "string").join(" ");
}

function colorsOf({ color, background }: AnsiStyle): { color?: string; background?: string } {
  return {
    ...(color === null ? {} : { color: typeof color === "string" ? color : `var(--ansi-${color})` }),
    ...(background === null
      ? {}
      : { background: typeof background === "string" ? background : `var(--ansi-on-${background})` }),
  };
}
