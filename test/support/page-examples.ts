import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { eventually } from "./eventually.ts";

const root = resolve(import.meta.dir, "../..");

/** A fenced block of a documentation page: ```` ```sh start ```` has the language `sh` and the name `start`. */
export interface PageExample {
  language: string;
  name: string;
  text: string;
  /** Its name, or its language and number on the page: `sh 2`. */
  id: string;
  line: number;
}

/** The blocks of a page in their order. */
export function blocksIn(source: string): PageExample[] {
  const counts = new Map<string, number>();
  const found = source.matchAll(/^( *)```(\S*)(?: (\S+))?\n([\s\S]*?)^\1```$/gm);
  return [...found].map(({ index, 2: language = "", 3: name = "", 4: text = "" }) => {
    const count = (counts.get(language) ?? 0) + 1;
    counts.set(language, count);
    const id = name === "" ? `${language} ${count}` : name;
    return { language, name, text, id, line: source.slice(0, index).split("\n").length };
  });
}

/** The blocks of a page of docs/ in their order, after texts of the page were replaced: addresses, ports, folders. */
export async function examplesOf(
  page: string,
  replaced: Record<string, string> = {},
): Promise<PageExample[]> {
  let source = await Bun.file(join(root, "docs", page)).text();
  for (const [from, to] of Object.entries(replaced)) {
    if (!source.includes(from)) throw new Error(`docs/${page} has no ${from}.`);
    source = source.replaceAll(from, to);
  }
  return blocksIn(source);
}

export interface PageShell {
  folder: string;
  env: Record<string, string>;
  /** What a person types when a command asks. */
  typed: string;
  /** What a person does between the blocks; it receives the output of the block before. */
  after(index: number, output: string): Promise<void> | void;
}

/**
 * Runs the `sh` blocks of a page in one shell, as a reader does who pastes them one after the other, and compares the output
 * with the `text` block that follows. Returns the output of each block. Stops at the first command that fails.
 */
export async function runPage(examples: PageExample[], shell: PageShell): Promise<string[]> {
  const blocks = examples.filter(({ language }) => language === "sh");
  const control = join(shell.folder, ".control");
  mkdirSync(control, { recursive: true });
  const lines = blocks.flatMap(({ text }, index) => [
    text,
    `printf '\\n@@%s\\n' ${index}; while [ ! -e ${control}/${index} ]; do sleep 0.02; done`,
  ]);
  const script = join(control, "page.sh");
  writeFileSync(script, ["exec 2>&1", "set -eu", ...lines].join("\n"));
  const child = Bun.spawn(["sh", script], {
    cwd: shell.folder,
    env: { PATH: `${root}/bin:${process.env.PATH}`, HOME: shell.folder, LANG: "C.UTF-8", ...shell.env },
    stdin: new Blob([shell.typed]),
    stdout: "pipe",
  });
  let output = "";
  const reading = (async () => {
    for await (const chunk of child.stdout) output += Buffer.from(chunk).toString();
  })();
  const outputs: string[] = [];
  try {
    for (const [index, block] of blocks.entries()) {
      const mark = `\n@@${index}\n`;
      await eventually(
        `the commands end:\n${block.text}`,
        () => {
          if (child.exitCode !== null && !output.includes(mark))
            throw new Error(`a command failed in\n${block.text}\nOutput:\n${outputs.join("")}${output}`);
          return output.includes(mark);
        },
        90_000,
      );
      const [own = "", rest = ""] = output.split(mark);
      output = rest;
      outputs.push(own);
      const next = examples[examples.indexOf(block) + 1];
      if (next?.language === "text") compare(next.text, own, block.text);
      await shell.after(index, own);
      writeFileSync(join(control, String(index)), "");
    }
    await child.exited;
    await reading;
  } finally {
    child.kill("SIGKILL");
  }
  return outputs;
}

/** Each line of the page must occur as a whole line, in this order; … matches any text within a line. */
function compare(expected: string, output: string, command: string): void {
  const left = output.split("\n");
  for (const line of expected.trimEnd().split("\n")) {
    const pattern = new RegExp(`^${line.split("…").map(RegExp.escape).join(".*")}$`);
    const place = left.findIndex((each) => pattern.test(each.trimEnd()));
    if (place < 0)
      throw new Error(`The page shows "${line}" after\n${command}\nbut the output is\n${output}`);
    left.splice(0, place + 1);
  }
}
