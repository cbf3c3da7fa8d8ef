import { stepTitle } from "../src/model/stage/stage-name.ts";
import { plainText } from "./ansi.ts";

export interface LogLine {
  index: number;
  stage: string;
  step: string | null;
  at: string;
  text: string;
}

/** Lines of one step, or of what happens around the stages, that follow each other. */
export interface LogSegment {
  stage: string;
  /** `build`, or `build/test` if the step has a name of its own. */
  title: string;
  from: number;
  /** Index after its last line. */
  to: number;
}

/** What the rows of a log are drawn from. */
export interface LogSource {
  /** How many lines there are. */
  readonly next: number;
  readonly segments: readonly LogSegment[];
  textAt(index: number): string;
  /** Characters of a line without colour codes. */
  widthAt(index: number): number;
  /** Milliseconds since the epoch. */
  timeAt(index: number): number;
}

const chunkSize = 500;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Lines in few large buffers: an object per line would take several times the memory of its text. */
interface Chunk {
  bytes: Uint8Array;
  /** Where each line ends in `bytes`. */
  ends: Uint32Array;
  /** Milliseconds since the epoch. */
  times: Float64Array;
  /** Characters of each line without colour codes. */
  widths: Uint16Array;
}

/**
 * The lines of one log as far as they are known: always from 0 and without gaps. Lines come from the API and from the
 * live channel at once; doubles are dropped, and a gap is reported instead of shown.
 */
export class LogLines implements LogSource {
  #chunks: Chunk[] = [];
  /** The lines after the last whole chunk. */
  #open: LogLine[] = [];
  #segments: LogSegment[] = [];
  #stageStarts = new Map<string, number>();
  #listeners = new Set<() => void>();
  #version = 0;
  #isTelling = false;
  isComplete = false;
  readonly #schedule: (tell: () => void) => void;

  /** Listeners are called at most once per frame, however many lines arrive. */
  constructor(schedule: (tell: () => void) => void = (tell) => void requestAnimationFrame(tell)) {
    this.#schedule = schedule;
  }

  /** Index of the first line that is not known yet. */
  get next(): number {
    return this.#chunks.length * chunkSize + this.#open.length;
  }

  /** Index of the first line of each stage, and of each step by its title, so far. */
  get stageStarts(): ReadonlyMap<string, number> {
    return this.#stageStarts;
  }

  get segments(): readonly LogSegment[] {
    return this.#segments;
  }

  get version(): number {
    return this.#version;
  }

  textAt(index: number): string {
    const { chunk, offset } = this.#placeOf(index);
    if (chunk === undefined) return this.#open[offset]?.text ?? "";
    return decoder.decode(
      chunk.bytes.subarray(offset === 0 ? 0 : chunk.ends[offset - 1], chunk.ends[offset]),
    );
  }

  /** Milliseconds since the epoch. */
  timeAt(index: number): number {
    const { chunk, offset } = this.#placeOf(index);
    return chunk === undefined ? Date.parse(this.#open[offset]?.at ?? "") : (chunk.times[offset] ?? 0);
  }

  /** Characters of a line without colour codes. */
  widthAt(index: number): number {
    const { chunk, offset } = this.#placeOf(index);
    return chunk === undefined ? widthOf(this.#open[offset]?.text ?? "") : (chunk.widths[offset] ?? 0);
  }

  /** False when lines before these are missing: fetch from `next`. */
  add(lines: readonly LogLine[]): boolean {
    const first = lines[0];
    if (first === undefined) return true;
    if (first.index > this.next) return false;
    const before = this.next;
    for (const line of lines) if (line.index === this.next) this.#push(line);
    if (this.next > before) this.#changed();
    return true;
  }

  #placeOf(index: number): { chunk: Chunk | undefined; offset: number } {
    return { chunk: this.#chunks[Math.floor(index / chunkSize)], offset: index % chunkSize };
  }

  #push(line: LogLine): void {
    const { stage, index } = line;
    const title = stepTitle(stage, line.step);
    for (const name of [stage, title]) if (!this.#stageStarts.has(name)) this.#stageStarts.set(name, index);
    const last = this.#segments.at(-1);
    if (last?.title === title) last.to = index + 1;
    else this.#segments.push({ stage, title, from: index, to: index + 1 });
    this.#open.push(line);
    if (this.#open.length < chunkSize) return;
    this.#chunks.push(chunkOf(this.#open));
    this.#open = [];
  }

  complete(): void {
    if (this.isComplete) return;
    this.isComplete = true;
    this.#changed();
  }

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  #changed(): void {
    this.#version++;
    if (this.#isTelling) return;
    this.#isTelling = true;
    this.#schedule(() => {
      this.#isTelling = false;
      for (const listener of this.#listeners) listener();
    });
  }
}

function chunkOf(lines: readonly LogLine[]): Chunk {
  const texts = lines.map(({ text }) => encoder.encode(text));
  const bytes = new Uint8Array(texts.reduce((sum, text) => sum + text.length, 0));
  const ends = new Uint32Array(lines.length);
  let end = 0;
  for (const [index, text] of texts.entries()) {
    bytes.set(text, end);
    end += text.length;
    ends[index] = end;
  }
  return {
    bytes,
    ends,
    times: Float64Array.from(lines, ({ at }) => Date.parse(at)),
    widths: Uint16Array.from(lines, ({ text }) => widthOf(text)),
  };
}

/** Wide characters, such as Chinese ones, take two columns, and a tab up to eight. */
const wide = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]/g;

export function widthOf(text: string): number {
  const plain = text.includes("\u001b") || text.includes("\r") ? plainText(text) : text;
  const isAscii = /^[\x20-\x7e]*$/.test(plain);
  const extra = isAscii ? 0 : (plain.match(wide)?.length ?? 0) + 7 * (plain.split("\t").length - 1);
  return Math.min(0xffff, plain.length + extra);
}
