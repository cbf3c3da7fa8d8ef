const works: (() => unknown)[] = [];

/** Does this after the last test of the process. */
export function atEnd(work: () => unknown): void {
  works.push(work);
}

/** See after-all-tests.ts. */
export async function doAtEnd(): Promise<void> {
  for (const work of works.splice(0).reverse()) await work();
}
