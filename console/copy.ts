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
