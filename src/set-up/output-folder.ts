import { parseJson } from "../json.ts";

/* Into which folder the build of a site writes. It differs by tool, and its configuration may change it. */

/** Where tools write unless they are told otherwise, by package. */
const usual: Record<string, string> = {
  astro: "dist",
  gatsby: "public",
  next: "out",
  parcel: "dist",
  "react-scripts": "build",
  vite: "dist",
  "@11ty/eleventy": "_site",
  "@docusaurus/core": "build",
  "@sveltejs/adapter-static": "build",
  "@vue/cli-service": "dist",
};
/** Tools that use another one of the list, and write elsewhere than it does. */
const around = ["@sveltejs/adapter-static", "astro", "@docusaurus/core", "@11ty/eleventy"];
export const toolConfigs = ["vite", "astro", "next"].flatMap((tool) =>
  ["js", "mjs", "ts", "mts"].map((ending) => `${tool}.config.${ending}`),
);

const option = /(?:--(?:outDir|out-dir|dist-dir|output)(?:=|\s+)|\s-o\s+)["']?([\w./-]+)/;
const setting = /\b(?:outDir|distDir)\s*:\s*(?:["'`]([\w./-]+)["'`])?/;

/** Empty: it cannot be known. */
export function outputFolder(texts: ReadonlyMap<string, string>): string {
  const { build, packages } = manifest(texts.get("package.json") ?? "");
  if (build === "") return "";
  const told = option.exec(build)?.[1];
  if (told !== undefined) return within(told);
  for (const name of toolConfigs) {
    const found = setting.exec(texts.get(name) ?? "");
    if (found !== null) return within(found[1] ?? "");
  }
  const used = [...around, ...Object.keys(usual)].find((name) => packages.includes(name));
  return used === undefined ? "" : (usual[used] ?? "");
}

/** A path that leads out of the folder depends on where the tool runs. */
function within(path: string): string {
  const plain = path.replace(/^\.\//, "").replace(/\/+$/, "");
  return plain.startsWith("/") || plain.split("/").includes("..") ? "" : plain;
}

function manifest(text: string): { build: string; packages: string[] } {
  const read = parseJson(text);
  const part = (name: string): Record<string, unknown> => {
    const found = typeof read === "object" && read !== null ? Reflect.get(read, name) : null;
    return typeof found === "object" && found !== null ? (found as Record<string, unknown>) : {};
  };
  const { build } = part("scripts");
  return {
    build: typeof build === "string" ? build : "",
    packages: [...Object.keys(part("dependencies")), ...Object.keys(part("devDependencies"))],
  };
}
