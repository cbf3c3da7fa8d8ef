// Globs with exactly four wildcards: `*` any characters except `/`, `**` any characters across levels, `**/` zero or
// more directory levels, `?` one character other than `/`. Everything else is literal.
//
// A text is compared with a table of one row per character, so a match costs at most length of text × length of pattern,
// and no pattern can block the event loop, as a regular expression could. Many patterns over many texts still add up, so
// their total cost is limited by MatchWork.

/**
 * The remaining budget of a match, in steps of about ten nanoseconds. Below zero every match returns false, whether the
 * text matches or not.
 */
export interface MatchWork {
  left: number;
}

export type Glob = (text: string, work?: MatchWork) => boolean;

export function compileGlob(pattern: string): Glob {
  const firstWildcard = pattern.search(/[*?]/);
  if (firstWildcard < 0) return (text, work = unlimited()) => spend(work, callCost) && text === pattern;
  const prefix = pattern.slice(0, firstWildcard);
  const afterLast = Math.max(pattern.lastIndexOf("*"), pattern.lastIndexOf("?")) + 1;
  // The `/` of a closing `**/` belongs to the wildcard, not to the literal end.
  const suffixStart = pattern.startsWith("**/", afterLast - 2) ? afterLast + 1 : afterLast;
  const suffix = pattern.slice(suffixStart);
  const middle = pattern.slice(firstWildcard, suffixStart);
  const cells = cellsOf(middle);
  const fixedLength = prefix.length + suffix.length;
  // A native search rejects most texts. Texts that start alike often differ at the end, so the last literals come first.
  const literals = new Set(middle.split(/\*\*\/|[*?]/).reverse());
  literals.delete("");
  return (text, work = unlimited()) => {
    if (!spend(work, callCost)) return false;
    if (text.length < fixedLength || !text.startsWith(prefix) || !text.endsWith(suffix)) return false;
    if (middle === "**") return true;
    for (const literal of literals) {
      work.left -= searchCost + text.length / charactersPerStep;
      if (!text.includes(literal, prefix.length)) return false;
    }
    return matchesCells(cells, text, prefix.length, text.length - suffix.length, work);
  };
}

// Measured costs: a call with its comparisons, a native search, and the characters or cells that are compared per step.
const [callCost, searchCost, charactersPerStep, cellsPerStep] = [10, 20, 8, 4];

function unlimited(): MatchWork {
  return { left: Number.POSITIVE_INFINITY };
}

/** False if the budget is used up. */
function spend(work: MatchWork, cost: number): boolean {
  work.left -= cost;
  return work.left >= 0;
}

const slash = 47;
// A cell of the table: the code point of a literal, or one of these. `**/` has two cells.
const [anyInName, anyInPath, oneInName, levels, endOfLevels] = [-1, -2, -3, -4, -5];
const wildcards: Record<string, number[]> = {
  "*": [anyInName],
  "**": [anyInPath],
  "?": [oneInName],
  "**/": [levels, endOfLevels],
};

function cellsOf(pattern: string): Int32Array {
  const tokens = pattern.match(/\*\*\/|\*\*|[\s\S]/gu) ?? [];
  return Int32Array.from(tokens.flatMap((token) => wildcards[token] ?? [token.codePointAt(0) ?? 0]));
}

/** Whether the cells match text[from, to). Entry n of the row: the characters so far match the first n cells. */
function matchesCells(cells: Int32Array, text: string, from: number, to: number, work: MatchWork): boolean {
  const row = new Uint8Array(cells.length + 1);
  row[0] = 1;
  for (let n = 0; n < cells.length && isOptional(cells[n] ?? 0); n++) row[n + 1] = 1;
  for (let at = from; at < to; at++) {
    if (!spend(work, 1 + cells.length / cellsPerStep)) return false;
    const character = text.codePointAt(at) ?? 0;
    if (character > 0xffff) at++;
    nextRow(cells, row, character);
  }
  return row[cells.length] === 1;
}

function isOptional(cell: number): boolean {
  return cell < 0 && cell !== oneInName;
}

/** Replaces the row by that of one more character. */
function nextRow(cells: Int32Array, row: Uint8Array, character: number): void {
  const isInName = character === slash ? 0 : 1;
  let last = row[0] ?? 0;
  row[0] = 0;
  for (let n = 0; n < cells.length; n++) {
    const cell = cells[n] ?? 0;
    const same = row[n + 1] ?? 0;
    const entered = row[n] ?? 0;
    if (cell >= 0) row[n + 1] = cell === character ? last : 0;
    else if (cell === anyInName) row[n + 1] = entered | (same & isInName);
    else if (cell === oneInName) row[n + 1] = last & isInName;
    else if (cell === endOfLevels) row[n + 1] = (row[n - 1] ?? 0) | (isInName ? 0 : last);
    else row[n + 1] = entered | same;
    last = same;
  }
}
