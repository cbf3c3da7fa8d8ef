export interface ShellToken {
  /** Where it begins in the script. */
  at: number;
  kind: "comment" | "string" | "variable" | "keyword" | "option" | "operator" | "plain";
  text: string;
}

const keywords =
  "if|then|elif|else|fi|for|in|while|until|do|done|case|esac|function|return|exit|set|export|local";

const rules: [ShellToken["kind"], RegExp][] = [
  ["comment", /(?<=^|[\s;&|(])#[^\n]*/y],
  ["string", /'[^']*'?/y],
  ["string", /"(?:\\[\s\S]|[^"\\])*"?/y],
  ["variable", /\$(?:\{[^}\n]*\}?|[A-Za-z_]\w*|[0-9@*#?$!-])/y],
  ["variable", /(?<=^|[\s;&|(])[A-Za-z_]\w*(?==)/y],
  ["keyword", new RegExp(`(?<=^|[\\s;&|(])(?:${keywords})(?=$|[\\s;&|)])`, "y")],
  ["option", /(?<=\s)--?[A-Za-z][\w-]*/y],
  ["operator", /[|;<>&]+/y],
  ["plain", /\\[\s\S]|[\w./:@%+=,~-]+|\s+|[\s\S]/y],
];

/** A longer script is shown without colours: each key press reads all of it. */
const maxLength = 50_000;

/** The parts of a shell script that get a colour. Joined, their texts are the script. */
export function shellTokens(script: string): ShellToken[] {
  if (script.length > maxLength) return [{ at: 0, kind: "plain", text: script }];
  const tokens: ShellToken[] = [];
  let at = 0;
  while (at < script.length) {
    const token = tokenAt(script, at);
    at += token.text.length;
    const last = tokens.at(-1);
    if (token.kind === "string" && token.text.startsWith('"')) tokens.push(...withVariables(token));
    else if (token.kind === "plain" && last?.kind === "plain") last.text += token.text;
    else tokens.push(token);
  }
  return tokens;
}

function tokenAt(script: string, at: number): ShellToken {
  for (const [kind, pattern] of rules) {
    pattern.lastIndex = at;
    const text = pattern.exec(script)?.[0];
    if (text) return { at, kind, text };
  }
  return { at, kind: "plain", text: script.slice(at, at + 1) };
}

/** A text in double quotes may contain variables. */
function withVariables({ at, text }: ShellToken): ShellToken[] {
  const parts = text.split(/(?<!\\)(\$(?:\{[^}\n]*\}|[A-Za-z_]\w*|[0-9@*#?$!]))/);
  let next = at;
  return parts
    .map((part, index): ShellToken => {
      const token: ShellToken = { at: next, kind: index % 2 === 0 ? "string" : "variable", text: part };
      next += part.length;
      return token;
    })
    .filter((token) => token.text !== "");
}
