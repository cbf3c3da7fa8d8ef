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

/** The value as JSON can hold it. What JSON holds as it is, is not copied: that would cost more than to write it. */
function packed(value: unknown, message: Message): unknown {
  switch (typeof value) {
    case "string":
      if (value.length >= minLongText) {
        message.push(value);
        return longText;
      }
      return value.charCodeAt(0) === markCode ? mark + value : value;
    case "object":
      if (value === null) return null;
      if (Array.isArray(value)) return packedList(value, message);
      return value instanceof Date
        ? dateMark + value.getTime()
        : packedObject(value as { [name: string]: unknown }, message);
    case "undefined":
      return missing;
    case "number":
    case "boolean":
      return value;
    default:
      throw new TypeError(`A ${typeof value} is not plain data.`);
  }
}

function packedList(list: readonly unknown[], message: Message): readonly unknown[] {
  let copy: unknown[] | null = null;
  for (let index = 0; index < list.length; index++) {
    const item = packed(list[index], message);
    if (item === list[index]) continue;
    copy ??= [...list];
    copy[index] = item;
  }
  return copy ?? list;
}

/** JSON leaves out a member that is undefined. */
function packedObject(value: { [name: string]: unknown }, message: Message): object {
  let copy: { [name: string]: unknown } | null = null;
  for (const name in value) {
    const given = value[name];
    if (given === undefined) continue;
    const item = packed(given, message);
    if (item === given) continue;
    copy ??= { ...value };
    copy[name] = item;
  }
  return copy ?? value;
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
