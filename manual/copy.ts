/** A button on each example; a page over plain http may not use the clipboard. */
export function setUpCopying(): void {
  if (!navigator.clipboard) return;
  for (const example of document.querySelectorAll<HTMLElement>("article pre")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(example.querySelector("code")?.textContent ?? "");
      button.textContent = "Copied";
      setTimeout(() => {
        button.textContent = "Copy";
      }, 1500);
    });
    const frame = document.createElement("div");
    frame.className = "example";
    example.replaceWith(frame);
    frame.append(example, button);
  }
}
