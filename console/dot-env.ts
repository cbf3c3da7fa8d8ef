export interface DotEnv {
  variables: { name: string; value: string }[];
  /** Numbers of the lines that are neither a variable, a comment nor empty. */
  unreadLines: number[];
}

const emptyLine = /[ \t]*(?:#[^\n]*)?(?:\n|$)/y;
const assignment = /[ \t]*(?:export[ \t]+)?([A-Za-z_]\w*)[ \t]*=[ \t]*/y;
const values = [
  /"((?:\\[\s\S]|[^"\\])*)"[ \t]*(?:#[^\n]*)?(?:\n|$)/y,
  /'([^']*)'[ \t]*(?:#[^\n]*)?(?:\n|$)/y,
  /`([^`]*)`[ \t]*(?:#[^\n]*)?(?:\n|$)/y,
  /(?!["'`])([^\n]*)(?:\n|$)/y,
];
const restOfLine = /[^\n]*(?:\n|$)/y;

/**
 * Reads a `.env` file as the common loaders do: `export` is ignored, single quotes keep their text, double quotes may
 * contain line breaks and escapes, an unquoted value ends at ` #`. The last of two equal names counts.
 */
export function readDotEnv(file: string): DotEnv {
  const text = file.replace(/^\uFEFF/, "").replaceAll(/\r\n?/g, "\n");
  const found = new Map<string, string>();
  const unreadLines: number[] = [];
  let at = 0;
  let line = 1;
  const take = (pattern: RegExp, from: number): RegExpExecArray | null => {
    pattern.lastIndex = from;
    return pattern.exec(text);
  };
  while (at < text.length) {
    const variable = take(emptyLine, at) ? null : variableAt(take, at);
    if (variable) found.set(variable.name, variable.value);
    else if (!take(emptyLine, at)) unreadLines.push(line);
    const length = variable?.length ?? take(restOfLine, at)?.[0].length ?? text.length;
    line += text.slice(at, at + length).split("\n").length - 1;
    at += length;
  }
  return { variables: [...found].map(([name, value]) => ({ name, value })), unreadLines };
}

function variableAt(
  take: (pattern: RegExp, from: number) => RegExpExecArray | null,
  at: number,
): { name: string; value: string; length: number } | null {
  const start = take(assignment, at);
  if (start?.[1] === undefined) return null;
  for (const pattern of values) {
    const end = take(pattern, at + start[0].length);
    if (end?.[1] === undefined) continue;
    const value = unquoted(end[0].charAt(0), end[1]);
    return { name: start[1], value, length: start[0].length + end[0].length };
  }
  return null;
}

function unquoted(quote: string, text: string): string {
  if (quote === '"') return unescaped(text);
  if (quote === "'" || quote === "`") return text;
  return text.replace(/(?:^|\s)#.*$/, "").trim();
}

const escapes: Record<string, string> = { n: "\n", r: "\r", t: "\t" };

function unescaped(text: string): string {
  return text.replaceAll(/\\([\s\S])/g, (whole, letter: string) =>
    '"\\$`'.includes(letter) ? letter : (escapes[letter] ?? whole),
  );
}
