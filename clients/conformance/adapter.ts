import { Inbox } from "./inbox.ts";

/** What an adapter wrote: one JSON object a line. */
export type AdapterEvent = Record<string, unknown> & { event: string };

/** A running adapter: a small program around a client. */
export class Adapter {
  readonly events = new Inbox<AdapterEvent>();
  readonly #child;
  readonly #errors: Promise<string>;
  readonly #reading: Promise<void>;

  constructor(command: string[], options: object, onLine: (line: string) => void = () => {}) {
    const child = Bun.spawn([...command, asciiJson(options)], {
      stdin: "pipe",
      stdout: "pipe",
      stderr: "pipe",
    });
    this.#child = child;
    this.#errors = new Response(child.stderr).text();
    this.#reading = readLines(child.stdout, (line) => {
      onLine(line);
      this.events.put(JSON.parse(line) as AdapterEvent);
    });
  }

  command(command: unknown): void {
    this.#child.stdin.write(`${JSON.stringify(command)}\n`);
    this.#child.stdin.flush();
  }

  /** Ends the input and waits until the program has ended by itself. */
  async end(): Promise<void> {
    this.#child.stdin.end();
    const exitCode = await this.#child.exited;
    await this.#reading;
    if (exitCode !== 0) throw new Error(`the adapter ended with code ${exitCode}`);
  }

  /** Returns what it wrote to stderr. */
  async kill(): Promise<string> {
    this.#child.kill("SIGKILL");
    return this.#errors;
  }
}

async function readLines(stream: ReadableStream<Uint8Array>, onLine: (line: string) => void): Promise<void> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    lines.forEach(onLine);
  }
}

/** Some runtimes read arguments in the encoding of the locale. */
function asciiJson(value: unknown): string {
  const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(value).replace(/[\u0080-\uffff]/g, escaped);
}
