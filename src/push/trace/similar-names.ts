/** Whether somebody may have mixed up two different user ids: another case, spaces, leading zeros, or one letter. */
export function isSimilarName(one: string, other: string): boolean {
  if (one === other || Math.abs(one.length - other.length) > 3) return false;
  const [a, b] = [plainForm(one), plainForm(other)];
  if (a === b) return true;
  return Math.min(a.length, b.length) >= 4 && differByOneLetter(a, b);
}

function plainForm(name: string): string {
  return name
    .toLowerCase()
    .replaceAll(/\s/g, "")
    .replace(/^0+(?=.)/, "");
}

/** One letter is changed, added or left out, or two neighbours are exchanged. */
function differByOneLetter(a: string, b: string): boolean {
  let start = 0;
  while (start < a.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < Math.min(a.length, b.length) - start && a.at(-1 - end) === b.at(-1 - end)) end++;
  const [left, right] = [a.slice(start, a.length - end), b.slice(start, b.length - end)];
  // user-1 and user-2 are different users.
  if (/\d/.test(left + right)) return false;
  if (left.length <= 1 && right.length <= 1) return true;
  return left.length === 2 && left === [...right].reverse().join("");
}
