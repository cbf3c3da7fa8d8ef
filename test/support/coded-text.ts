import { parseSync } from "oxc-parser";

interface Node {
  type: string;
  start: number;
  [key: string]: unknown;
}

/** Faults whose text is replaced by a general one before it is sent. */
const replacedCodes = new Set(["unavailable", "internal"]);
/** Errors whose first argument is shown to people. */
const shownErrors = new Set(["RemoteError", "Withheld", "ForbiddenAddress"]);
/** Methods of schemas whose second argument says what is wrong with a value. */
const checks = new Set(["refine", "regex"]);
/** Functions whose second argument is a sentence of an answer. */
const refusals = new Set(["found", "orFault"]);
/** Names of what a request is refused with. */
const messageNames = new Set(["message", "error", "duplicate", "missing", "problem", "note"]);

/**
 * Texts of requests' answers that are not written with `newReason`, so that they have no code: messages of faults, of
 * fields and of checks, and what functions named `…Fault` return.
 */
export function textWithoutCode(path: string, source: string): string[] {
  const found: string[] = [];
  const report = (node: Node, text: string) => {
    const line = source.slice(0, node.start).split("\n").length;
    found.push(`${path}:${line} ${text.trim().replaceAll(/\s+/g, " ")}`);
  };

  /** Reports the literals of an expression, except those inside a call. */
  const literals = (value: unknown): void => {
    if (Array.isArray(value)) for (const each of value) literals(each);
    if (!isNode(value)) return;
    const text = textOf(value);
    if (text !== null && /\p{L}{2}/u.test(text)) report(value, text);
    literals(partsOf(value));
  };

  const walk = (value: unknown, inFault: boolean): void => {
    if (Array.isArray(value)) for (const each of value) walk(each, inFault);
    if (!isNode(value)) return;
    const [first, second, third] = (value.arguments ?? []) as Node[];
    const callee = isNode(value.callee) ? value.callee : null;
    if (
      value.type === "NewExpression" &&
      nameOf(callee) === "Fault" &&
      !replacedCodes.has(String(first?.value))
    )
      literals(second);
    if (value.type === "NewExpression" && shownErrors.has(nameOf(callee))) literals(first);
    if (value.type === "CallExpression" && checks.has(nameOf(callee?.property))) literals(second);
    if (value.type === "CallExpression" && refusals.has(nameOf(callee))) literals([second, third]);
    if (value.type === "CallExpression" && nameOf(callee?.property) === "addIssue") literals(first);
    if (value.type === "ObjectExpression" && hasProperty(value, "field")) literals(value);
    if (value.type === "VariableDeclarator" && nameOf(value.id) === "message") literals(value.init);
    if (inFault && value.type === "ReturnStatement") literals(value.argument);
    const isFunction = value.type === "FunctionDeclaration";
    const isFault = isFunction ? /(Fault|Warnings?|Note)$/.test(nameOf(value.id)) : inFault;
    for (const child of Object.values(value)) walk(child, isFault);
  };
  const { program, errors } = parseSync(path, source);
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]?.message}`);
  walk(program, false);
  return [...new Set(found)];
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";
}

function nameOf(node: unknown): string {
  return isNode(node) ? String(node.name ?? "") : "";
}

function hasProperty(node: Node, name: string): boolean {
  return (node.properties as Node[]).some((property) => nameOf(property.key) === name);
}

function textOf(node: Node): string | null {
  if (node.type === "Literal" && typeof node.value === "string") return node.value;
  if (node.type !== "TemplateLiteral") return null;
  return (node.quasis as Node[]).map((part) => (part.value as { raw: string }).raw).join("…");
}

/** The expressions that the value of an expression comes from. */
function partsOf(node: Node): unknown[] {
  switch (node.type) {
    case "ConditionalExpression":
      return [node.consequent, node.alternate];
    case "LogicalExpression":
    case "BinaryExpression":
      return [node.left, node.right];
    case "ObjectExpression":
      return (node.properties as Node[])
        .filter((property) => messageNames.has(nameOf(property.key)))
        .map((property) => property.value);
    default:
      return [];
  }
}
