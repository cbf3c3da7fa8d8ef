import { type ShellToken, shellTokens } from "./shell-words.ts";

/**
 * What a start script of version 1.0 is: nothing; a script that runs to its end; one command that it leaves in the background,
 * here as it is written in the foreground; or anything else that leaves processes behind.
 */
export type StartScript =
  | { kind: "empty" }
  | { kind: "step" }
  | { kind: "command"; command: string }
  | { kind: "background" };

export function classifyStart(script: string): StartScript {
  if (script.trim() === "") return { kind: "empty" };
  const tokens = shellTokens(script);
  // The shell will say what is wrong with it.
  if (tokens === null) return { kind: "step" };
  const list = withoutLines(tokens);
  if (list.length === 0) return { kind: "step" };
  const isPlain = isOperator(list.at(-1), "&") && list.slice(0, -1).every(({ kind }) => kind !== "operator");
  const command = isPlain ? foreground(list.slice(0, -1)) : null;
  if (command !== null) return { kind: "command", command };
  return { kind: leavesProcesses(tokens) ? "background" : "step" };
}

/** Without empty lines and comments around the script. */
function withoutLines(tokens: ShellToken[]): ShellToken[] {
  const isText = (token: ShellToken) => !isOperator(token, "\n");
  return tokens.slice(tokens.findIndex(isText), tokens.findLastIndex(isText) + 1);
}

function isOperator(token: ShellToken | undefined, text: string): boolean {
  return token?.kind === "operator" && token.text === text;
}

function leavesProcesses(tokens: ShellToken[]): boolean {
  return (
    tokens.some((token) => isOperator(token, "&")) ||
    commandsIn(tokens).some(isDaemon) ||
    tokens.some(({ text }) => substitutions(text).some((inner) => classifyStart(inner).kind !== "step"))
  );
}

/** What `$(…)` in a word executes. */
function substitutions(word: string): string[] {
  return word.startsWith("'")
    ? []
    : [...word.matchAll(/\$\(([^()]+)\)|`([^`]+)`/g)].map(([, plain, ticked]) => plain ?? ticked ?? "");
}

/** The words of each command, without assignments before it and programs that execute it. */
function commandsIn(tokens: ShellToken[]): string[][] {
  const commands: string[][] = [[]];
  for (const { kind, text } of tokens) {
    if (kind === "operator") commands.push([]);
    if (kind === "word") commands.at(-1)?.push(text);
  }
  return commands.map(withoutPrefix).filter((words) => words.length > 0);
}

const assignment = /^[A-Za-z_]\w*\+?=/;
const keywords = new Set(["if", "then", "else", "elif", "while", "until", "do", "for", "case", "!", "{"]);
const wrappers = new Set(["sudo", "env", "exec", "command", "nice", "npx", "time"]);

function withoutPrefix(words: string[]): string[] {
  let isWrapped = false;
  const first = words.findIndex((word) => {
    const isPrefix =
      assignment.test(word) ||
      keywords.has(word) ||
      wrappers.has(word) ||
      (isWrapped && word.startsWith("-"));
    isWrapped ||= wrappers.has(word);
    return !isPrefix;
  });
  return first === -1 ? [] : words.slice(first);
}

/** Programs that go on in the background by themselves, and the words with which they do. */
const daemons: Record<string, RegExp> = {
  nohup: /^/,
  setsid: /^/,
  coproc: /^/,
  daemonize: /^/,
  daemon: /^/,
  "start-stop-daemon": /^(-S|--start)$/,
  pm2: /^(start|restart|reload|startOrRestart|startOrReload)$/,
  forever: /^(start|restart)$/,
  screen: /^-\w*d/,
  tmux: /^-\w*d/,
  gunicorn: /^-D$/,
  "php-fpm": /^-D$/,
  mongod: /^--fork$/,
};

function isDaemon([name = "", ...words]: string[]): boolean {
  const program = name.slice(name.lastIndexOf("/") + 1);
  const rule = Object.hasOwn(daemons, program) ? daemons[program] : undefined;
  return (
    [program, ...words].some((word) => rule?.test(word)) ||
    words.some((word) => /^--daemon(ize)?\b/.test(word))
  );
}

/** Words that begin something else than a command, or a command that says nothing in the background. */
const notCommands =
  /^(if|while|until|for|case|select|function|time|!|\{|\[\[|\(\(.*|cd|eval|source|\.|export|set|wait)$/;
const inBackground = new Set(["nohup", "setsid", "exec"]);

/** The command as it is written in the foreground; null: there is a doubt. */
function foreground(tokens: ShellToken[]): string | null {
  const words = tokens.filter(({ kind }) => kind === "word").map(({ text }) => text);
  const first = words.findIndex((word) => !assignment.test(word) && !inBackground.has(word));
  const program = words[first] ?? "";
  const prefix = words.slice(0, Math.max(first, 0));
  const detaches =
    /^(docker|podman)$/.test(program) && words.some((word) => /^(-[a-z]*d[a-z]*|--detach)$/.test(word));
  if (first === -1 || program.startsWith("-") || notCommands.test(program) || detaches) return null;
  if (
    isDaemon(words.slice(first)) ||
    words.some((word) => substitutions(word).some((inner) => inner.includes("&")))
  )
    return null;
  // `exec A=b` would be a command `A=b`.
  const isMixed = prefix.some(
    (word, index) => inBackground.has(word) && assignment.test(prefix[index + 1] ?? ""),
  );
  if (isMixed) return null;
  const redirections = outputOf(tokens);
  if (redirections === null) return null;
  let index = 0;
  return tokens
    .filter((token) => {
      if (token.kind === "redirection") return redirections.includes(token);
      const isPrefix = index < first && inBackground.has(token.text);
      index++;
      return !isPrefix;
    })
    .map(({ text }) => text)
    .join(" ");
}

/**
 * The redirections that stay. A service prints to its standard output, so that those of its whole output to files go, and that of
 * its input from nowhere. Null: there is a doubt.
 */
function outputOf(tokens: ShellToken[]): ShellToken[] | null {
  const redirections = tokens.filter(({ kind }) => kind === "redirection");
  const goesTo = { "1": "", "2": "" };
  const outputs: ShellToken[] = [];
  const inputs: ShellToken[] = [];
  for (const token of redirections) {
    const { text } = token;
    const [, descriptor = "", sign = "", target = ""] = /^(\d*)([<>&|]+)\s*(.*)$/s.exec(text) ?? [];
    if (sign.startsWith("<")) {
      if (sign !== "<" || !["", "0"].includes(descriptor)) return null;
      if (target === "/dev/null") inputs.push(token);
      continue;
    }
    const own = descriptor === "" ? "1" : descriptor;
    if (sign === "&>" || sign === "&>>" || (sign === ">&" && !/^[\d-]/.test(target))) {
      goesTo["1"] = goesTo["2"] = target;
    } else if (own !== "1" && own !== "2") return null;
    else if (sign === ">&") {
      if (target !== "1" && target !== "2") return null;
      goesTo[own] = goesTo[target];
    } else goesTo[own] = target;
    outputs.push(token);
  }
  const isWhole = goesTo["1"] !== "" && goesTo["2"] !== "";
  return redirections.filter((token) => !inputs.includes(token) && !(isWhole && outputs.includes(token)));
}
