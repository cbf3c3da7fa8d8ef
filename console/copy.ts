/**
 * Copies the text of an element; false where that was not possible, and then it is selected. Browsers give pages a
 * clipboard over https only, but any page may copy what is selected.
 */
export async function copyTextOf(element: HTMLElement): Promise<boolean> {
  if (isSecureContext && (await writeToClipboard(element.textContent))) return true;
  getSelection()?.selectAllChildren(element);
  return document.execCommand("copy");
}

function writeToClipboard(text: string): Promise<boolean> {
  return navigator.clipboard.writeText(text).then(
    () => true,
    () => false,
  );
}

/** Copies a text that is not on the page as a whole. */
export async function copyText(text: string): Promise<boolean> {
  if (isSecureContext && (await writeToClipboard(text))) return true;
  const field = document.createElement("textarea");
  field.value = text;
  document.body.append(field);
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  return isCopied;
}
