/** A longer name is not compared: no known name is this long, and the cost grows with the length. */
const nameMaxLength = 64;

/** The candidate a misspelt name most likely meant; null when none is close. */
export function nearest(name: string, candidates: Iterable<string>): string | null {
  if (name.length > nameMaxLength) return null;
  let best: string | null = null;
  let least = Number.POSITIVE_INFINITY;
  for (const candidate of candidates) {
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance < least) [best, least] = [candidate, distance];
  }
  const isLike = least <= Math.max(3, name.length / 2) && least < name.length;
  return isLike ? best : null;
}

/** Levenshtein distance: how many letters to change, add or drop. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replace = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replace, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
