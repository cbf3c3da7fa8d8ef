/** What a process of the cluster has answered. */
export interface ClusterAnswer {
  /** Name of its instance; several workers are one. */
  instance: string;
  answer: unknown;
}

export interface ClusterAnswers {
  answers: ClusterAnswer[];
  /** Instances with a process that did not answer in time. */
  missing: string[];
}

interface OpenQuestion {
  asked: ReadonlyMap<string, string>;
  answers: Map<string, ClusterAnswer>;
  done: () => void;
}

/** A busy instance answers within milliseconds; a killed instance is evicted after some seconds. */
const answerWithinMs = 3_000;
/** Older questions belong to the starting read, or nobody waits for them any more. */
const maxQuestionAgeMs = answerWithinMs;
const maxOpen = 1_000;

/**
 * Questions to every process of the cluster. A question is a record of the log `control`, and so is each answer; the
 * process that asked collects the answers of all processes that were present when it asked.
 */
export class ClusterQuestions {
  /** The processes that take part, with the names of their instances. */
  readonly #processes: () => ReadonlyMap<string, string>;
  readonly #open = new Map<string, OpenQuestion>();

  constructor(processes: () => ReadonlyMap<string, string>) {
    this.#processes = processes;
  }

  /** Whether a process takes part. */
  knows(process: string): boolean {
    return this.#processes().has(process);
  }

  /** Appends the question by `append` and waits for the answers. Rejects if it cannot be appended. `only`: of one process. */
  async ask(id: string, append: () => Promise<unknown>, only?: string): Promise<ClusterAnswers> {
    if (this.#open.size >= maxOpen) this.#closeOldest();
    const processes = this.#processes();
    const asked = only === undefined ? processes : new Map([[only, processes.get(only) ?? only]]);
    const answers = new Map<string, ClusterAnswer>();
    const { promise: answered, resolve: done } = Promise.withResolvers<void>();
    this.#open.set(id, { asked, answers, done });
    const timer = setTimeout(done, answerWithinMs);
    try {
      await append();
      await answered;
    } finally {
      clearTimeout(timer);
      this.#open.delete(id);
    }
    const present = this.#processes();
    const missing = [...asked].filter(([process]) => !answers.has(process) && present.has(process));
    return {
      answers: [...answers.values()],
      missing: [...new Set(missing.map(([, instance]) => instance))],
    };
  }

  /** Whether the process that asked still waits. */
  isOpen(ageMs: number): boolean {
    return ageMs < maxQuestionAgeMs;
  }

  receive(to: string, process: string, answer: ClusterAnswer): void {
    const question = this.#open.get(to);
    if (!question) return;
    question.answers.set(process, answer);
    if ([...question.asked.keys()].every((asked) => question.answers.has(asked))) question.done();
  }

  #closeOldest(): void {
    const [oldest] = this.#open.values();
    oldest?.done();
  }
}
