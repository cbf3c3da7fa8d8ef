import { type AnsiStyle, piecesOf } from "../ansi.ts";

/** The text of one log line with its colours; what is searched for is marked. */
export function LogText({ text, marked }: { text: string; marked: string }) {
  return piecesOf(text).map((piece) => (
    <span
      key={piece.at}
      {...(piece.style === null ? {} : { className: classesOf(piece.style), style: colorsOf(piece.style) })}
    >
      <Marked text={piece.text} marked={marked} />
    </span>
  ));
}

function Marked({ text, marked }: { text: string; marked: string }) {
  if (marked === "") return text;
  const needle = marked.toLowerCase();
  const lower = text.toLowerCase();
  const parts = [];
  let start = 0;
  for (let at = lower.indexOf(needle); at >= 0; at = lower.indexOf(needle, start)) {
    parts.push(text.slice(start, at));
    parts.push(<mark key={at}>{text.slice(at, at + needle.length)}</mark>);
    start = at + needle.length;
  }
  parts.push(text.slice(start));
  return <>{parts}</>;
}

function classesOf(style: AnsiStyle): string {
  const classes = [
    typeof style.color === "number" && `ansi-${style.color}`,
    typeof style.background === "number" && `ansi-on-${style.background}`,
    style.isBold && "ansi-bold",
    style.isFaint && "ansi-faint",
    style.isItalic && "ansi-italic",
    style.isUnderlined && "ansi-underlined",
  ];
  return classes.filter((name) => typeof name === "string").join(" ");
}

function colorsOf(style: AnsiStyle): { color?: string; background?: string } {
  return {
    ...(typeof style.color === "string" ? { color: style.color } : {}),
    ...(typeof style.background === "string" ? { background: style.background } : {}),
  };
}
