/** Values to search for, as a tree of their beginnings: each node is one beginning. Node 0 is the empty text. */
export interface SecretSearch {
  /** The longest beginning of a value that the text ends with, after one more character. */
  next(node: number, character: number): number;
  /** Length of a beginning. */
  length(node: number): number;
  /** Length of the longest value that a text with this end has at its end; 0: none. */
  found(node: number): number;
}

/**
 * The algorithm of Aho and Corasick. Its time depends neither on the number of values nor on their contents, so that no
 * project can slow down a runner that others use.
 */
export function buildSecretSearch(values: string[]): SecretSearch {
  const longestFirst = values.toSorted((a, b) => b.length - a.length);
  const size = 1 + longestFirst.reduce((sum, value) => sum + value.length, 0);
  const parents = new Int32Array(size);
  const characters = new Uint16Array(size);
  const lengths = new Int32Array(size);
  /** The longest end of a beginning that is itself a beginning. */
  const shorter = new Int32Array(size);
  const founds = new Int32Array(size);
  /** A hash table of the nodes by parent and character. */
  const mask = 2 ** Math.ceil(Math.log2(size * 2)) - 1;
  const table = new Int32Array(mask + 1);
  let nodes = 1;

  /** Where the node is in the table, or would be. */
  function placeOf(parent: number, character: number): number {
    let hash = Math.imul(parent, 0x9e3779b1) ^ Math.imul(character, 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
    let place = (hash ^ (hash >>> 13)) & mask;
    for (;;) {
      const node = table[place] as number;
      if (node === 0 || (parents[node] === parent && characters[node] === character)) return place;
      place = (place + 1) & mask;
    }
  }

  function next(from: number, character: number): number {
    let node = from;
    for (;;) {
      const child = table[placeOf(node, character)] as number;
      if (child !== 0 || node === 0) return child;
      node = shorter[node] as number;
    }
  }

  /** All shorter beginnings exist already. */
  function childOf(parent: number, character: number): number {
    const place = placeOf(parent, character);
    const known = table[place] as number;
    if (known !== 0) return known;
    const end = parent === 0 ? 0 : next(shorter[parent] as number, character);
    const node = nodes++;
    table[place] = node;
    parents[node] = parent;
    characters[node] = character;
    lengths[node] = (lengths[parent] as number) + 1;
    shorter[node] = end;
    founds[node] = founds[end] as number;
    return node;
  }

  const reached = new Int32Array(longestFirst.length);
  const longest = longestFirst[0]?.length ?? 0;
  for (let at = 0; at < longest; at += 1)
    for (const [index, value] of longestFirst.entries()) {
      if (value.length <= at) break;
      const node = childOf(reached[index] as number, value.charCodeAt(at));
      reached[index] = node;
      if (value.length === at + 1) founds[node] = value.length;
    }

  return {
    next,
    length: (node) => lengths[node] as number,
    found: (node) => founds[node] as number,
  };
}
