/* The words and operators of a shell script, as far as one must know them to see what it leaves in the background. */

export type ShellToken =
  | { kind: "word"; text: string }
  | { kind: "operator"; text: string }
  | { kind: "redirection"; text: string };

/** Longest first, so that `&&` is not read as `&` twice. */
const operators = ["&&", "||", "|&", ";;", "|", ";", "&", "(", ")", "\n"];
const redirection = /^(\d*)(<<<|<<-|<<|&>>|&>|>>|>&|<&|>\||<>|<|>)/;

/** Null: the script cannot be read, such as one with an open quote. */
export function shellTokens(script: string): ShellToken[] | null {
  const text = script.replaceAll("\r\n", "\n");
  const tokens: ShellToken[] = [];
  const documents: string[] = [];
  let at = 0;
  while (at < text.length) {
    const rest = text.slice(at);
    const space = /^([ \t\r]|\\\n)+/.exec(rest)?.[0] ?? /^#[^\n]*/.exec(rest)?.[0];
    if (space !== undefined) {
      at += space.length;
      continue;
    }
    // `((a & b))` is arithmetic.
    const arithmetic = rest.startsWith("((") ? /^\(\([^\n]*?\)\)/.exec(rest)?.[0] : undefined;
    const redirected = redirection.exec(rest);
    const operator = operators.find((each) => rest.startsWith(each));
    if (arithmetic !== undefined) {
      tokens.push({ kind: "word", text: arithmetic });
      at += arithmetic.length;
    } else if (redirected && !/^[<>]\(/.test(rest)) {
      const from = at + redirected[0].length;
      const begin = from + (/^[ \t]*/.exec(text.slice(from))?.[0].length ?? 0);
      const end = wordEnd(text, begin);
      if (end === null || end === begin) return null;
      const target = text.slice(begin, end);
      if (redirected[2] === "<<" || redirected[2] === "<<-") documents.push(target);
      tokens.push({ kind: "redirection", text: text.slice(at, end) });
      at = end;
    } else if (operator !== undefined) {
      tokens.push({ kind: "operator", text: operator });
      at += operator.length;
      if (operator === "\n") at = afterDocuments(text, at, documents.splice(0));
    } else {
      const end = wordEnd(text, at);
      if (end === null) return null;
      tokens.push({ kind: "word", text: text.slice(at, end) });
      at = end;
    }
  }
  return tokens;
}

/** The text of here-documents follows the line that names them. */
function afterDocuments(text: string, from: number, documents: string[]): number {
  let at = from;
  for (const document of documents) {
    const name = document.replaceAll(/["'\\]/g, "");
    for (let isOver = false; !isOver && at < text.length; ) {
      const end = text.indexOf("\n", at);
      const line = text.slice(at, end === -1 ? text.length : end);
      isOver = line.replace(/^\t+/, "") === name;
      at = end === -1 ? text.length : end + 1;
    }
  }
  return at;
}

/** Where the word that begins at `from` ends; null: a quote or a bracket is not closed. */
function wordEnd(text: string, from: number): number | null {
  let at = from;
  // The text of `<(…)` belongs to the word.
  if (/^[<>]\(/.test(text.slice(at, at + 2))) {
    const end = bracketEnd(text, at + 2);
    if (end === null) return null;
    at = end;
  }
  while (at < text.length) {
    const character = text[at] ?? "";
    if (/[\s;&|<>()]/.test(character)) return at;
    const end = partEnd(text, at, character);
    if (end === null) return null;
    at = end;
  }
  return at;
}

/** Where a quoted or substituted part, or a single character, ends. */
function partEnd(text: string, at: number, character: string): number | null {
  if (character === "\\") return at + 2;
  if (character === "'") return after(text, "'", at + 1);
  if (character === '"') return quoteEnd(text, at + 1);
  if (character === "`") return after(text, "`", at + 1);
  if (character === "$" && text[at + 1] === "(") return bracketEnd(text, at + 2);
  if (character === "$" && text[at + 1] === "{") return after(text, "}", at + 2);
  return at + 1;
}

function after(text: string, mark: string, from: number): number | null {
  const end = text.indexOf(mark, from);
  return end === -1 ? null : end + 1;
}

function quoteEnd(text: string, from: number): number | null {
  for (let at = from; at < text.length; ) {
    const character = text[at] ?? "";
    if (character === '"') return at + 1;
    const end = character === "'" ? at + 1 : partEnd(text, at, character);
    if (end === null) return null;
    at = end;
  }
  return null;
}

/** `from` is behind the opening bracket. */
function bracketEnd(text: string, from: number): number | null {
  for (let at = from; at < text.length; ) {
    const character = text[at] ?? "";
    if (character === ")") return at + 1;
    const end = character === "(" ? bracketEnd(text, at + 1) : partEnd(text, at, character);
    if (end === null) return null;
    at = end;
  }
  return null;
}
