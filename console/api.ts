import { QueryClient } from "@tanstack/react-query";
import { type ClientResponse, hc } from "hono/client";
import type { Api } from "../src/http/api/api.ts";
import type { Sentence } from "../src/reason/reason.ts";
import { checkServer, onServerBack, serverAnswered } from "./reachability.ts";
import { reasonIn } from "./text/reason-text.ts";
import { t } from "./text/text.ts";

interface Fault {
  field: string;
  message: string;
}

/** What the API answered in place of what was asked for. */
export class ApiProblem extends Error {
  override readonly name = "ApiProblem";
  readonly status: number;
  readonly code: string;
  readonly fields: Fault[];
  readonly #told = new Set<Fault>();
  /** What failed: "Couldn't save the stages". Null: the request for the content of the page. */
  title: string | null = null;

  constructor(status: number, code: string, message: string, fields: Fault[] = []) {
    super(message);
    this.status = status;
    this.code = code;
    this.fields = fields;
  }

  /** Whether each fault has a field, and each of those is among the ones given. */
  isAbout(fields: ReadonlySet<string>): boolean {
    return this.fields.length > 0 && this.fields.every(({ field }) => fields.has(field));
  }

  /** The same, about a field that the server does not know: it was asked for something by what the field has. */
  at(field: string): ApiProblem {
    return new ApiProblem(this.status, this.code, this.message, [{ field, message: this.message }]);
  }

  /** What is wrong with one field of a form, for its error line. */
  about(field: string): string | undefined {
    const fault = this.fields.find((each) => each.field === field);
    if (fault !== undefined) this.#told.add(fault);
    return fault?.message;
  }

  /** The faults that no field has asked for. */
  get untold(): Fault[] {
    return this.fields.filter((fault) => !this.#told.has(fault));
  }
}

/** The header tells the server that this page, and no foreign one, asks for a change. */
export const api = hc<Api>(location.origin, { headers: { "x-slipway-csrf": "1" } }).api;

/** Header for a save that requires this revision; null: save unconditionally. */
export function ifMatch(revision: string | null): { "if-match"?: string } {
  return revision === null ? {} : { "if-match": revision };
}

/** Whether a save was refused because another user saved a change first. */
export function isChangedMeanwhile(problem: unknown): boolean {
  return problem instanceof ApiProblem && problem.status === 412;
}

type BodyOf<R> =
  R extends ClientResponse<infer B, infer S, string> ? (S extends SuccessStatus ? B : never) : never;
type SuccessStatus = 200 | 201 | 202 | 204;

const signedOutListeners = new Set<() => void>();

/** Called when an answer says that the session is over. */
export function onSignedOut(listener: () => void): () => void {
  signedOutListeners.add(listener);
  return () => signedOutListeners.delete(listener);
}

/** The body of a successful answer; anything else is thrown as an ApiProblem with a sentence for people. */
export async function answerOf<R extends ClientResponse<unknown, number, string>>(
  asked: Promise<R>,
): Promise<BodyOf<R>> {
  const response = await asked.catch(() => {
    checkServer();
    throw new ApiProblem(0, "unreachable", t("words.serverUnreachable"));
  });
  serverAnswered(response.status);
  if (response.ok) return (response.status === 204 ? null : await response.json()) as BodyOf<R>;
  const problem = await problemOf(response);
  if (response.status === 401) for (const listener of signedOutListeners) listener();
  throw problem;
}

interface SentText {
  message: string;
  messageParts?: Sentence[];
}

async function problemOf(response: ClientResponse<unknown, number, string>): Promise<ApiProblem> {
  const body = (await response.json().catch(() => null)) as {
    error?: SentText & { code: string; fields?: (SentText & { field: string })[] };
    reason?: string;
    code?: string;
  } | null;
  if (body?.error) {
    const { code, message, messageParts, fields: sent = [] } = body.error;
    const fields = sent.map((fault) => ({
      field: fault.field,
      message: reasonIn(fault.message, fault.messageParts),
    }));
    // People filled in a form: of a body or a query they know nothing.
    const inForm = fields.map((fault) => `${fault.field} ${fault.message}`).join(t("words.faultSeparator"));
    const shown =
      inForm === "" ? reasonIn(message, messageParts) : t("words.faultSentence", { faults: inForm });
    return new ApiProblem(response.status, code, shown, fields);
  }
  // A delivery that was refused answers with its own body.
  const message =
    body?.reason ?? t("words.serverAnswered", { status: `${response.status} ${response.statusText}` });
  return new ApiProblem(response.status, body?.code ?? "unknown", message);
}

export function messageOf(problem: unknown): string {
  return problem instanceof Error ? problem.message : String(problem);
}

/** What failed, for the heading of an error. */
export function titleOf(problem: unknown): string {
  return (problem instanceof ApiProblem ? problem.title : null) ?? t("words.requestFailed");
}

/** How often a page asks again for content that it did not get. */
const recoverMs = 4000;

/** What the server refuses, it refuses again. Busy, broken or out of reach, it may answer the next time. */
function mayAnswerLater(problem: unknown): boolean {
  if (!(problem instanceof ApiProblem)) return true;
  return problem.status === 0 || problem.status === 429 || problem.status >= 500;
}

/** Fetches again what is on the page and got no answer, so that a page recovers when the server does. */
export function refetchFailed(): void {
  void queryClient.refetchQueries({
    type: "active",
    predicate: ({ state }) => state.status === "error" && mayAnswerLater(state.error),
  });
}

setInterval(refetchFailed, recoverMs);
onServerBack(() => void queryClient.invalidateQueries());

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 2000,
      // Whether the machine has a network says nothing of a server on it or beside it.
      networkMode: "always",
      retry: (count, problem) => count < 2 && mayAnswerLater(problem),
    },
    mutations: { networkMode: "always" },
  },
});
