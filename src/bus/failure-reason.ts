import { messageOf } from "../errors.ts";

/** Libraries wrap errors in several layers: the outermost and the innermost message are useful, those between are not. */
export function reasonOf(failure: unknown): string {
  const innermost = innermostOf(failure);
  const outer = sentenceOf(failure);
  return innermost === failure ? outer : `${outer}: ${sentenceOf(innermost)}`;
}

/** The RabbitMQ client prefixes the name of the refused command, which is "undefined" for a refused login. */
function sentenceOf(error: unknown): string {
  const text = messageOf(error)
    .replace(/^undefined: /, "")
    .replace(/\.$/, "");
  if (text !== "" && text !== "undefined") return text;
  const { code, name } = Object(error) as { code?: unknown; name?: unknown };
  return String(code ?? name ?? "unknown cause");
}

function innermostOf(error: unknown): unknown {
  if (error instanceof AggregateError && error.errors.length > 0) return innermostOf(error.errors[0]);
  if (error instanceof Error && error.cause !== undefined) return innermostOf(error.cause);
  return error;
}
