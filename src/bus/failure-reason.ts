import { messageOf } from "../errors.ts";

/** The libraries wrap what happened in what they were doing: both are worth telling, the layers between are not. */
export function reasonOf(failure: unknown): string {
  const innermost = innermostOf(failure);
  const outer = messageOf(failure).replace(/\.$/, "");
  return innermost === failure ? outer : `${outer}: ${messageOf(innermost).replace(/\.$/, "")}`;
}

function innermostOf(error: unknown): unknown {
  if (error instanceof AggregateError && error.errors.length > 0) return innermostOf(error.errors[0]);
  if (error instanceof Error && error.cause !== undefined) return innermostOf(error.cause);
  return error;
}
