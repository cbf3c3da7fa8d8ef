import type { Keepers } from "../../model/store.ts";

/** `short`: one statement that is soon done. `long`: see longRead. `change`: see inTransaction. */
type CallKind = "short" | "long" | "change";

/** The kind of every method of the keepers, by noun and method. */
export type CallKinds = Record<string, Record<string, CallKind>>;

/** A call of a keeper's method, by name. */
export interface KeeperCall {
  kind: CallKind;
  noun: string;
  method: string;
  parameters: readonly unknown[];
}

const marks = new WeakMap<object, CallKind>();

/** Marks a method that reads and may take seconds: on SQLite it runs on a thread of its own. */
export function longRead<Method extends object>(method: Method): Method {
  marks.set(method, "long");
  return method;
}

/** Marks a method whose statements belong together: outside of an operation it gets a transaction. */
export function inTransaction<Method extends object>(method: Method): Method {
  marks.set(method, "change");
  return method;
}

export function kindsOf(keepers: Keepers): CallKinds {
  return mapMethods(keepers, (_noun, _method, value: object) => marks.get(value) ?? "short");
}

/** Keepers whose calls all go to `execute`. */
export function keepersOver(kinds: CallKinds, execute: (call: KeeperCall) => Promise<unknown>): Keepers {
  const calling = (noun: string, method: string, kind: CallKind) => {
    return (...parameters: unknown[]) => execute({ kind, noun, method, parameters });
  };
  return mapMethods(kinds, calling) as unknown as Keepers;
}

function mapMethods<From, To>(nouns: object, map: (noun: string, method: string, value: From) => To) {
  const mapped = Object.entries(nouns).map(([noun, methods]: [string, Record<string, From>]) => {
    const entries = Object.entries(methods).map(([method, value]) => [method, map(noun, method, value)]);
    return [noun, Object.fromEntries(entries)];
  });
  return Object.fromEntries(mapped) as Record<string, Record<string, To>>;
}

type Methods = Record<string, (...parameters: readonly unknown[]) => Promise<unknown>>;

/** Executes a call on the keeper that it names. */
export async function callKeeper(
  keepers: object,
  { noun, method, parameters }: Omit<KeeperCall, "kind">,
): Promise<unknown> {
  const keeper = (keepers as Record<string, Methods>)[noun];
  const found = keeper?.[method];
  if (found === undefined) throw new Error(`There is no ${noun}.${method}.`);
  return found.apply(keeper, [...parameters]);
}
