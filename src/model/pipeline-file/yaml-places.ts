import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  visit,
} from "yaml";
import { messageOf } from "../../errors.ts";
import { newReason, type Reason } from "../../reason/reason.ts";

/** Counted from 1. */
export interface Place {
  line: number;
  column: number;
}

/** A text in YAML whose values are known with their places. */
export interface PlacedValue {
  value: unknown;
  /** Where a field is: its name, or its value. A field that is not there is where its object begins. */
  placeOf(path: readonly PropertyKey[], what: "name" | "value"): Place;
}

export type YamlFault = Place & { message: Reason };

export function readYaml(text: string): PlacedValue | YamlFault {
  try {
    return read(text);
  } catch (error) {
    // Nested too deep.
    return { line: 1, column: 1, message: newReason("yaml_invalid", { why: messageOf(error) }) };
  }
}

function read(text: string): PlacedValue | YamlFault {
  const counter = new LineCounter();
  const document = parseDocument(text, { lineCounter: counter, merge: true, logLevel: "error" });
  const [fault] = [...document.errors, ...document.warnings];
  const at = (offset: number): Place => {
    const { line, col } = counter.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  if (fault !== undefined) return { ...at(fault.pos[0]), message: faultText(fault.code, fault.message) };
  try {
    const value: unknown = document.toJS();
    return { value, placeOf: (path, what) => at(offsetOf(document, path, what)) };
  } catch (error) {
    return {
      ...at(unresolvedAlias(document)),
      message: newReason("yaml_invalid", { why: messageOf(error) }),
    };
  }
}

/** Where the value is that made the text unreadable. */
function unresolvedAlias(document: Document): number {
  let offset = 0;
  visit(document, {
    Alias(_key, alias) {
      if (alias.resolve(document) !== undefined) return undefined;
      offset = alias.range?.[0] ?? 0;
      return visit.BREAK;
    },
  });
  return offset;
}

function faultText(code: string, message: string): Reason {
  if (code === "DUPLICATE_KEY") return newReason("yaml_repeated");
  if (code === "MULTIPLE_DOCS") return newReason("yaml_documents");
  if (code === "TAB_AS_INDENT") return newReason("yaml_tab");
  // The place is said beside it, and the next lines quote the file.
  const [first = ""] = message.split("\n");
  return newReason("yaml_invalid", { why: first.replace(/( at line \d+, column \d+)?:?$/, "") });
}

function offsetOf(document: Document, path: readonly PropertyKey[], what: "name" | "value"): number {
  let node: Node | null = document.contents;
  let name: Node | null = null;
  for (const part of path) {
    const found = childOf(document, node, part);
    if (found === null) break;
    name = found.name ?? found.value;
    node = found.value;
    if (node === null) break;
  }
  const isMissing = node === null || (isScalar(node) && node.source === "");
  const shown = (what === "name" || isMissing ? name : node) ?? node;
  return shown?.range?.[0] ?? 0;
}

interface Child {
  /** Null: of an entry of a list. */
  name: Node | null;
  value: Node | null;
}

/** Null: it is not there, or it comes from a merged map. */
function childOf(document: Document, parent: Node | null, part: PropertyKey): Child | null {
  const node = isAlias(parent) ? parent.resolve(document) : parent;
  if (isSeq(node)) {
    const value = (node.items[Number(part)] as Node | undefined) ?? null;
    return value && { name: null, value };
  }
  if (!isMap(node)) return null;
  const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(part));
  return pair ? { name: pair.key as Node, value: (pair.value as Node | null) ?? null } : null;
}
