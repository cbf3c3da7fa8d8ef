import { parseSync } from "oxc-parser";

/** A text that the console would show without its catalogue. */
export interface FoundText {
  line: number;
  text: string;
}

interface Node {
  type: string;
  start: number;
  [key: string]: unknown;
}

/** Attributes and properties whose values the user reads. */
const shownNames = new Set([
  ...["label", "title", "placeholder", "aria-label", "ariaLabel", "description", "message", "children"],
  ...["about", "alt", "confirm", "submit", "done", "failed", "error", "empty", "nothingFoundMessage", "tab"],
  ...["aria-description", "aria-roledescription", "aria-valuetext", "summary", "hint", "text"],
]);

/** Elements whose content is code, and the same in every language. */
const codeElements = new Set(["code", "kbd", "pre", "Code", "Kbd", "samp"]);

const hasLetters = /\p{L}{2}/u;
/** Words of which the first has a capital letter: a sentence or a heading, wherever it is. */
const sentence = /^\p{Lu}[\p{L}'’]*[,:]? \p{L}/u;
/** One word with the punctuation of code: an action, a setting, a path or an address. */
const code = /^[\w-]*\w[._:/@=][\w./:@*-]+$/;
const phrase = /\p{L} \p{L}/u;

/** How a string is used: the user reads it, a function returns it, or neither is known. */
type Use = "shown" | "returned" | "unknown";

/** Text in the source of a console file that does not come from the catalogue. */
export function textOutsideCatalogue(path: string, source: string): FoundText[] {
  const found = new Map<number, FoundText>();
  const report = (node: Node, text: string) => {
    const line = source.slice(0, node.start).split("\n").length;
    found.set(node.start, { line, text: text.trim().replaceAll(/\s+/g, " ") });
  };
  const walk = (value: unknown, use: Use): void => {
    if (Array.isArray(value)) for (const each of value) walk(each, use);
    if (!isNode(value)) return;
    const text = textOf(value);
    if (text !== null && isText(text, value.type === "JSXText" ? "shown" : use)) report(value, text);
    for (const [child, childUse] of childrenOf(value, use)) walk(child, childUse);
  };
  walk(parse(path, source), "unknown");
  return [...found.values()];
}

function isText(text: string, use: Use): boolean {
  if (use === "shown") return hasLetters.test(text) && !isName(text) && !code.test(text);
  return sentence.test(text) || (use === "returned" && phrase.test(text));
}

/** String literals and the fixed beginnings of templates: keys of the catalogue among them. */
export function stringsOf(path: string, source: string): { whole: string[]; beginnings: string[] } {
  const whole: string[] = [];
  const beginnings: string[] = [];
  const walk = (value: unknown): void => {
    if (Array.isArray(value)) for (const each of value) walk(each);
    if (!isNode(value)) return;
    if (value.type === "Literal" && typeof value.value === "string") whole.push(value.value);
    if (value.type === "TemplateLiteral") beginnings.push(textOf((value.quasis as Node[])[0]) ?? "");
    for (const child of Object.values(value)) walk(child);
  };
  walk(parse(path, source));
  return { whole, beginnings };
}

function parse(path: string, source: string): unknown {
  const { program, errors } = parseSync(path, source);
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]?.message}`);
  return program;
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";
}

function textOf(node: Node | undefined): string | null {
  if (node?.type === "Literal" && typeof node.value === "string") return node.value;
  if (node?.type === "JSXText") return String(node.value);
  if (node?.type === "TemplateElement") return String((node.value as { raw: string }).raw);
  return null;
}

/** The product has one name in all languages. */
function isName(text: string): boolean {
  return text.replaceAll(/[\s·]/g, "") === "Slipway";
}

/** The children of a node, and how the strings directly inside them are used. */
function childrenOf(node: Node, use: Use): [unknown, Use][] {
  const all = (childUse: Use): [unknown, Use][] => Object.values(node).map((child) => [child, childUse]);
  switch (node.type) {
    case "JSXElement":
      if (codeElements.has(nameOf(node.openingElement))) return [[node.openingElement, "unknown"]];
      return [
        [node.openingElement, "unknown"],
        [node.children, "shown"],
      ];
    case "JSXFragment":
      return [[node.children, "shown"]];
    case "JSXAttribute":
      return [[node.value, shownNames.has(nameOf(node)) ? "shown" : "unknown"]];
    case "Property":
      return [[node.value, shownNames.has(nameOf({ name: node.key })) ? "shown" : "unknown"]];
    case "ReturnStatement":
      return [[node.argument, "returned"]];
    case "ArrowFunctionExpression":
      return [
        [node.params, "unknown"],
        [node.body, "returned"],
      ];
    case "JSXExpressionContainer":
    case "LogicalExpression":
    case "TemplateLiteral":
    case "ParenthesizedExpression":
      return all(use);
    case "ConditionalExpression":
      return [
        [node.test, "unknown"],
        [node.consequent, use],
        [node.alternate, use],
      ];
    case "BinaryExpression":
      return node.operator === "+" ? all(use) : [];
    case "ImportDeclaration":
    case "TSLiteralType":
    case "TSTypeAliasDeclaration":
    case "TSInterfaceDeclaration":
      return [];
    default:
      return all("unknown");
  }
}

function nameOf(node: unknown): string {
  const { name } = node as { name: unknown };
  if (typeof name === "string") return name;
  if (!isNode(name)) return "";
  if (typeof name.name === "string") return name.name;
  return typeof name.value === "string" ? name.value : "";
}
