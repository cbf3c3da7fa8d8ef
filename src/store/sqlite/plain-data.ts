/**
 * Plain data on its way between threads: JSON and the long texts beside it. Bun hands over texts many times faster than
 * a tree of values, and a body full of quotes costs more to escape and to parse than to store.
 */
export type Message = string[];

const minLongText = 100;

/** What JSON cannot hold is a text that begins with this mark; a text that begins with it gets it twice. */
const mark = "\0";
const markCode = 0;
const longText = `${mark}L`;
const missing = `${mark}U`;
const dateMark = `${mark}D`;

type Tree = string | number | boolean | null | Tree[] | { [name: string]: Tree };

export function encode(value: unknown): Message {
  const message: Message = [""];
  message[0] = JSON.stringify(packed(value, message));
  return message;
}

function packed(value: unknown, message: Message): Tree {
  switch (typeof value) {
    case "string":
      if (value.length >= minLongText) {
        message.push(value);
        return longText;
      }
      return value.charCodeAt(0) === markCode ? mark + value : value;
    case "object":
      if (value === null) return null;
      if (Array.isArray(value)) return value.map((item) => packed(item, message));
      return value instanceof Date ? dateMark + value.getTime() : packedObject(value, message);
    case "undefined":
      return missing;
    case "number":
    case "boolean":
      return value;
    default:
      throw new TypeError(`A ${typeof value} is not plain data.`);
  }
}

function packedObject(value: object, message: Message): Tree {
  const tree: { [name: string]: Tree } = {};
  for (const [name, item] of Object.entries(value))
    if (item !== undefined) tree[name] = packed(item, message);
  return tree;
}

export function decode(message: Message): unknown {
  let next = 1;
  const restored = (value: Tree): unknown => {
    if (typeof value === "string") {
      if (value.charCodeAt(0) !== markCode) return value;
      if (value === longText) return message[next++];
      if (value === missing) return undefined;
      return value.startsWith(dateMark) ? new Date(Number(value.slice(dateMark.length))) : value.slice(1);
    }
    if (typeof value !== "object" || value === null) return value;
    // In place: nobody else has this tree.
    const parent = value as { [name: string]: unknown };
    for (const name in parent) {
      const item = parent[name] as Tree;
      if (typeof item === "string" || typeof item === "object") parent[name] = restored(item);
    }
    return parent;
  };
  return restored(JSON.parse(message[0] ?? "") as Tree);
}
