export interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

export function countJunit(xml: string): Counts {
  const head = /<testsuites[^>]*>/.exec(xml)?.[0] ?? "";
  const attribute = (name: string) => Number(new RegExp(`\\b${name}="(\\d+)"`).exec(head)?.[1] ?? 0);
  const [failed, skipped] = [attribute("failures"), attribute("skipped")];
  return { passed: attribute("tests") - failed - skipped, failed, skipped };
}

export interface FileTime {
  file: string;
  seconds: number;
}

/** How long each file took. The suites of a file have its name, those of a `describe` their own. */
export function fileTimes(xml: string): FileTime[] {
  const suites = xml.matchAll(/<testsuite name="([^"]+)" file="\1"[^>]* time="([\d.]+)"/g);
  return [...suites].map(([, file = "", seconds]) => ({ file, seconds: Number(seconds) }));
}

const progressEveryMs = 10_000;
const [errorLines, errorLineLength] = [6, 200];

/** Output of the test process: prints the output of failed tests, and the progress every ten seconds. */
export class GroupOutput {
  /** The name of each failed test, and its error. */
  readonly failures: string[] = [];
  private readonly failedTests = new Set<string>();
  private passed = 0;
  private skipped = 0;
  private held: string[] = [];
  private progressAt = performance.now();
  /** The longest limit that a test of the process has announced (test/support/long-test.ts). */
  announcedLimitMs = 0;
  private readonly startedAt = performance.now();
  private readonly timer: ReturnType<typeof setInterval>;

  private readonly name: string;
  private readonly print: (text: string) => void;

  constructor(name: string, print: (text: string) => void = console.log) {
    this.name = name;
    this.print = print;
    this.timer = setInterval(() => this.showProgress(), progressEveryMs);
  }

  async read(stream: ReadableStream<Uint8Array>): Promise<void> {
    let rest = "";
    const decoder = new TextDecoder();
    for await (const piece of stream) {
      const lines = (rest + decoder.decode(piece, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) this.take(line);
    }
    if (rest) this.take(rest);
  }

  private take(line: string): void {
    const announced = /^\(limit\) (\d+)$/.exec(line)?.[1];
    if (announced !== undefined) {
      this.announcedLimitMs = Math.max(this.announcedLimitMs, Number(announced));
      return;
    }
    this.held.push(line);
    const [, outcome, test = ""] = /^\((pass|skip|todo|fail)\) (.*)/.exec(line) ?? [];
    if (!outcome) return;
    this.progressAt = performance.now();
    if (outcome !== "fail") this.takeErrorOutside();
    // Bun repeats its failures at the end.
    else if (!this.failedTests.has(test)) this.fail(test);
    if (outcome === "pass") this.passed++;
    else if (outcome !== "fail") this.skipped++;
    this.held = [];
  }

  /** An error in a callback between two tests belongs to neither of them. */
  private takeErrorOutside(): void {
    if (this.held.includes("# Unhandled error between tests")) this.fail("an error outside of a test");
  }

  private fail(test: string): void {
    this.failedTests.add(test);
    this.failures.push([test, ...errorIn(this.held)].join("\n    "));
    this.print(this.held.join("\n"));
  }

  /** After a crash, prints the remaining output. */
  end(isFailed: boolean): void {
    clearInterval(this.timer);
    const known = this.failures.length;
    this.takeErrorOutside();
    if (isFailed && known === this.failures.length && this.held.length > 0) this.print(this.held.join("\n"));
  }

  /** The time since a test has ended. */
  stalledMs(): number {
    return performance.now() - this.progressAt;
  }

  counts(): Counts {
    return { passed: this.passed, failed: this.failures.length, skipped: this.skipped };
  }

  private showProgress(): void {
    const seconds = ((performance.now() - this.startedAt) / 1000).toFixed(0);
    this.print(`  ${this.name}: ${this.passed} passed so far (${seconds} s)`);
  }
}

/** The message of the last error in the output of a test: its first lines, without the stack. */
function errorIn(lines: string[]): string[] {
  const start = lines.findLastIndex((line) => /^\w*error: /i.test(line));
  if (start < 0) return [];
  const message = lines.slice(start, start + errorLines);
  const stack = message.findIndex((line) => /^ +at /.test(line));
  return (stack < 0 ? message : message.slice(0, stack))
    .filter((line) => line.trim() !== "")
    .map((line) => line.slice(0, errorLineLength));
}
