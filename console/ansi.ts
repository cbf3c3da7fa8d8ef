/** Terminal colours of a log line. Pure text in, pieces of text with a style out; nothing of the text is ever markup. */
import { visibleText } from "../src/visible-text.ts";

export interface AnsiStyle {
  /** 0–15: the palette of the page; `#rrggbb`: exact. */
  color: number | string | null;
  background: number | string | null;
  isBold: boolean;
  isFaint: boolean;
  isItalic: boolean;
  isUnderlined: boolean;
}

export interface AnsiPiece {
  /** Where it starts in the line as written. */
  at: number;
  text: string;
  style: AnsiStyle | null;
}

const plain: AnsiStyle = {
  color: null,
  background: null,
  isBold: false,
  isFaint: false,
  isItalic: false,
  isUnderlined: false,
};

// CSI sequences (the last byte tells which), OSC strings (titles, links) up to their end, and two-byte escapes.
const escapes = new RegExp(
  [
    "\\u001b\\[([0-9;:?<=>]*)[ -/]*([@-~])",
    "\\u001b\\][^\\u0007\\u001b]*(?:\\u0007|\\u001b\\\\)",
    "\\u001b[@-Z\\\\^_]",
  ].join("|"),
  "g",
);
const controls = /(?!\t)\p{Cc}/gu;

/** A line as it stands at its end: what a progress bar overwrote with carriage returns is gone. */
export function piecesOf(line: string): AnsiPiece[] {
  const text = lastDrawn(line);
  if (!text.includes("\u001b")) return [{ at: 0, text: shownText(text), style: null }];
  const pieces: AnsiPiece[] = [];
  let style = plain;
  let start = 0;
  const add = (end: number) => {
    const piece = shownText(text.slice(start, end));
    if (piece !== "") pieces.push({ at: start, text: piece, style: style === plain ? null : style });
  };
  for (const match of text.matchAll(escapes)) {
    add(match.index);
    start = match.index + match[0].length;
    if (match[2] === "m") style = applied(style, match[1] ?? "");
  }
  add(text.length);
  return pieces;
}

/** Drops control characters, which a terminal does not show, and escapes characters that would reorder or hide text. */
function shownText(text: string): string {
  return visibleText(text.replace(controls, ""), "\t");
}

export function plainText(line: string): string {
  return piecesOf(line)
    .map((piece) => piece.text)
    .join("");
}

function lastDrawn(line: string): string {
  if (!line.includes("\r")) return line;
  return line.replace(/\r+$/, "").split("\r").at(-1) ?? "";
}

function applied(before: AnsiStyle, parameters: string): AnsiStyle {
  const codes = parameters.split(/[;:]/).map(Number);
  let style = before;
  for (let at = 0; at < codes.length; at++) {
    const code = codes[at] ?? 0;
    if (code === 38 || code === 48) {
      const [color, used] = extendedColor(codes, at + 1);
      at += used;
      if (color !== null) style = { ...style, [code === 38 ? "color" : "background"]: color };
    } else style = appliedOne(style, code);
  }
  return style;
}

function appliedOne(style: AnsiStyle, code: number): AnsiStyle {
  if (code === 0) return plain;
  if (code === 1) return { ...style, isBold: true };
  if (code === 2) return { ...style, isFaint: true };
  if (code === 3) return { ...style, isItalic: true };
  if (code === 4) return { ...style, isUnderlined: true };
  if (code === 22) return { ...style, isBold: false, isFaint: false };
  if (code === 23) return { ...style, isItalic: false };
  if (code === 24) return { ...style, isUnderlined: false };
  if (code === 39) return { ...style, color: null };
  if (code === 49) return { ...style, background: null };
  if (code >= 30 && code <= 37) return { ...style, color: code - 30 };
  if (code >= 90 && code <= 97) return { ...style, color: code - 90 + 8 };
  if (code >= 40 && code <= 47) return { ...style, background: code - 40 };
  if (code >= 100 && code <= 107) return { ...style, background: code - 100 + 8 };
  return style;
}

/** `5;n` or `2;r;g;b` after 38 or 48: the colour, and how many codes it took. */
function extendedColor(codes: number[], at: number): [number | string | null, number] {
  if (codes[at] === 5) return [indexed(codes[at + 1] ?? 0), 2];
  if (codes[at] !== 2) return [null, 0];
  const channels = [codes[at + 1] ?? 0, codes[at + 2] ?? 0, codes[at + 3] ?? 0];
  return [hex(channels), 4];
}

/** The 256-colour table: 16 of the palette, a cube of 6 × 6 × 6, 24 greys. */
function indexed(index: number): number | string | null {
  if (!Number.isInteger(index) || index < 0 || index > 255) return null;
  if (index < 16) return index;
  if (index >= 232) return hex(Array(3).fill(8 + (index - 232) * 10));
  const cube = index - 16;
  const levels = [Math.floor(cube / 36), Math.floor(cube / 6) % 6, cube % 6];
  return hex(levels.map((level) => (level === 0 ? 0 : 55 + level * 40)));
}

function hex(channels: number[]): string {
  return `#${channels
    .map((value) =>
      Math.min(255, Math.max(0, value || 0))
        .toString(16)
        .padStart(2, "0"),
    )
    .join("")}`;
}
