import { root } from "./root.ts";

/**
 * Where manuals of several versions are published side by side, each in the folder of its version, the header offers them.
 * The list is `versions.json` of the folder above.
 */
export async function setUpVersions(): Promise<void> {
  const version = document.documentElement.dataset.version ?? "";
  const shown = document.querySelector<HTMLElement>(".version");
  if (!shown || !root.pathname.endsWith(`/${version}/`)) return;
  const response = await fetch(new URL("../versions.json", root));
  if (!response.ok) return;
  const select = document.createElement("select");
  select.className = "version";
  select.setAttribute("aria-label", "Version");
  for (const name of (await response.json()) as string[])
    select.append(new Option(name, name, name === version, name === version));
  select.addEventListener("change", () => {
    location.href = new URL(`../${encodeURIComponent(select.value)}/`, root).href;
  });
  shown.replaceWith(select);
}
