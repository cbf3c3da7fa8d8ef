/**
 * Plain data on its way between threads: its JSON, the list of `Place`s as JSON, and the long texts. Bun hands over
 * texts many times faster than a tree of values, and a body full of quotes costs more to escape and to parse than to
 * store.
 */
export type Message = string[];

const minLongText = 100;

/** A value that JSON does not hold as it is: its kind, and its names and indexes from the innermost to the outermost. */
type Place = ["text" | "date" | "undefined", ...(string | number)[]];

/** What `packed` has found so far. */
interface Found {
  places: Place[];
  texts: string[];
}

export function encode(value: unknown): Message {
  const found: Found = { places: [], texts: [] };
  const json = JSON.stringify(packed(value, found));
  return [json, JSON.stringify(found.places), ...found.texts];
}

/** The value as JSON can hold it. What JSON holds as it is, is not copied: that would cost more than to write it. */
function packed(value: unknown, found: Found): unknown {
  switch (typeof value) {
    case "string":
      if (value.length < minLongText) return value;
      found.places.push(["text"]);
      found.texts.push(value);
      return "";
    case "object":
      if (value === null) return null;
      if (Array.isArray(value)) return packedList(value, found);
      if (!(value instanceof Date)) return packedObject(value as { [name: string]: unknown }, found);
      found.places.push(["date"]);
      return value.getTime();
    case "undefined":
      found.places.push(["undefined"]);
      return null;
    case "number":
    case "boolean":
      return value;
    default:
      throw new TypeError(`A ${typeof value} is not plain data.`);
  }
}

function packedList(list: readonly unknown[], found: Found): readonly unknown[] {
  let copy: unknown[] | null = null;
  for (let index = 0; index < list.length; index++) {
    const before = found.places.length;
    const item = packed(list[index], found);
    if (item === list[index]) continue;
    for (let place = before; place < found.places.length; place++) found.places[place]?.push(index);
    copy ??= [...list];
    copy[index] = item;
  }
  return copy ?? list;
}

/** JSON leaves out a member that is undefined. */
function packedObject(object: { [name: string]: unknown }, found: Found): object {
  let copy: { [name: string]: unknown } | null = null;
  for (const name in object) {
    const given = object[name];
    if (given === undefined) continue;
    const before = found.places.length;
    const item = packed(given, found);
    if (item === given) continue;
    for (let place = before; place < found.places.length; place++) found.places[place]?.push(name);
    copy ??= { ...object };
    copy[name] = item;
  }
  return copy ?? object;
}

export function decode([json = "", places = "", ...texts]: Message): unknown {
  const root = { value: JSON.parse(json) as unknown };
  let nextText = 0;
  for (const place of JSON.parse(places) as Place[]) {
    let parent = root as { [name: string | number]: unknown };
    let name: string | number = "value";
    for (let at = place.length - 1; at > 0; at--) {
      parent = parent[name] as typeof parent;
      name = place[at] ?? "";
    }
    const [kind] = place;
    if (kind === "text") parent[name] = texts[nextText++];
    else if (kind === "date") parent[name] = new Date((parent[name] as number | null) ?? Number.NaN);
    else parent[name] = undefined;
  }
  return root.value;
}
