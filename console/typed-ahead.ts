/**
 * Keys that were pressed after the search was opened and before its field has the focus. The dialog is loaded when it is
 * first opened, which may take longer than the first letters.
 */
let typed: string | null = null;

export function expectTyping(): void {
  typed = "";
}

/** Returns the text so far, and keeps no more keys. */
export function takeTyped(): string {
  const text = typed ?? "";
  typed = null;
  return text;
}

/** Whether the key belongs to the text of a field that is not there yet. */
export function keepKey(event: KeyboardEvent): boolean {
  if (typed === null) return false;
  if (event.key === "Backspace") typed = typed.slice(0, -1);
  else if ([...event.key].length === 1) typed += event.key;
  else if (event.key !== "Enter") return false;
  event.preventDefault();
  return true;
}
