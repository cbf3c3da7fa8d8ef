import { dirname, join, normalize } from "node:path";

/** A file of the repository: its path from the root, and its text. */
export interface SourceFile {
  path: string;
  text: string;
}

/** A part of the program: the files that make it up, and the parts it may import. The first match of a path counts. */
export interface Part {
  name: string;
  files: RegExp;
  imports: readonly string[];
  /** Parts of which it may import types, but nothing that runs. */
  types?: readonly string[];
}

export interface Import {
  from: string;
  /** A path from the root, or the name of a package. */
  to: string;
  isPackage: boolean;
  isTypeOnly: boolean;
}

const importPattern =
  /(?:^|[\s;])(?:import|export)\s+(type\s)?((?:[\w*{}\s,$]|\btype\b)*?\bfrom\s+)?["']([^"'\n]+)["']/g;
const dynamicPattern = /\bimport\(\s*["']([^"'\n]+)["']/g;

export function importsOf(file: SourceFile): Import[] {
  const code = file.text.replaceAll(/\/\*[\s\S]*?\*\//g, "").replaceAll(/^\s*\/\/.*$/gm, "");
  const found = [
    ...[...code.matchAll(importPattern)].map((match) => ({
      target: match[3] ?? "",
      isTypeOnly: match[1] !== undefined || namesOnlyTypes(match[2] ?? ""),
    })),
    ...[...code.matchAll(dynamicPattern)].map((match) => ({ target: match[1] ?? "", isTypeOnly: false })),
  ];
  return found.map(({ target, isTypeOnly }) => ({
    from: file.path,
    to: target.startsWith(".") ? normalize(join(dirname(file.path), target)) : target,
    isPackage: !target.startsWith("."),
    isTypeOnly,
  }));
}

/** `{ type A, type B } from`: nothing of it is left at run time. */
function namesOnlyTypes(clause: string): boolean {
  const names = /^\{([^}]*)\}\s*from\s+$/.exec(clause.trimStart())?.[1]?.split(",") ?? [];
  const given = names.map((name) => name.trim()).filter((name) => name !== "");
  return given.length > 0 && given.every((name) => name.startsWith("type "));
}

/** Every import that the table does not allow, as a sentence. */
export function wrongArrows(files: SourceFile[], parts: readonly Part[]): string[] {
  return files.flatMap((file) => {
    const own = partOf(file.path, parts);
    if (!own) return [`${file.path} belongs to no part; give it a row in the table of parts`];
    return importsOf(file)
      .filter((entry) => /\.tsx?$/.test(entry.to) && !entry.isPackage && !isAllowed(own, entry, parts))
      .map((entry) => {
        const target = partOf(entry.to, parts)?.name ?? "nothing known";
        const kind = own.types?.includes(target) ? " (types only)" : "";
        return `${file.path} imports ${entry.to}: ${own.name} may not import ${target}${kind}`;
      });
  });
}

function isAllowed(own: Part, entry: Import, parts: readonly Part[]): boolean {
  const target = partOf(entry.to, parts);
  if (!target) return false;
  if (target.name === own.name || own.imports.includes(target.name)) return true;
  return entry.isTypeOnly && (own.types?.includes(target.name) ?? false);
}

function partOf(path: string, parts: readonly Part[]): Part | undefined {
  return parts.find((part) => part.files.test(path));
}

/** Packages that only some parts may use: the technology each part hides. */
export function strayPackages(
  files: SourceFile[],
  parts: readonly Part[],
  owners: Readonly<Record<string, readonly string[]>>,
): string[] {
  return files.flatMap((file) =>
    importsOf(file)
      .filter(({ isPackage, to }) => {
        const owner = Object.entries(owners).find(([name]) => to === name || to.startsWith(`${name}/`));
        return isPackage && owner !== undefined && !owner[1].includes(partOf(file.path, parts)?.name ?? "");
      })
      .map(({ to }) => `${file.path} imports ${to}, which belongs to another part`),
  );
}

/** Cycles of parts that import each other, each as `a → b → a`. */
export function cycles(files: SourceFile[], parts: readonly Part[]): string[] {
  return rings(files, (path) => partOf(path, parts)?.name);
}

/** Cycles of files that import each other, type imports included, each as `a → b → a`. */
export function fileCycles(files: SourceFile[]): string[] {
  return rings(files, (path) => path);
}

/** Finds one cycle for each import that closes it: a depth-first search visits every node once. */
function rings(files: SourceFile[], nodeOf: (path: string) => string | undefined): string[] {
  const arrows = new Map<string, Set<string>>();
  for (const file of files) {
    const own = nodeOf(file.path);
    for (const { to, isPackage } of importsOf(file)) {
      const target = isPackage ? undefined : nodeOf(to);
      if (own && target && own !== target) arrows.set(own, (arrows.get(own) ?? new Set()).add(target));
    }
  }
  const found = new Set<string>();
  const finished = new Set<string>();
  const visit = (node: string, path: string[]): void => {
    const start = path.indexOf(node);
    if (start >= 0) {
      const ring = path.slice(start);
      // A cycle can be entered at each of its nodes; reporting it from the first by name makes the text unique.
      const first = ring.indexOf([...ring].sort()[0] ?? "");
      const turned = [...ring.slice(first), ...ring.slice(0, first)];
      found.add([...turned, turned[0]].join(" → "));
      return;
    }
    if (finished.has(node)) return;
    for (const next of arrows.get(node) ?? []) visit(next, [...path, node]);
    finished.add(node);
  };
  for (const node of arrows.keys()) visit(node, []);
  return [...found];
}

/** Imports from a folder that lies above the importing one in its area. */
export function upwardImports(
  files: SourceFile[],
  layers: Readonly<Record<string, readonly string[]>>,
): string[] {
  return Object.entries(layers).flatMap(([area, folders]) => {
    const inArea = (path: string) => path.startsWith(`${area}/`);
    const folderOf = (path: string) => /^([^/]+)\//.exec(path.slice(area.length + 1))?.[1] ?? ".";
    return files
      .filter(({ path }) => inArea(path))
      .flatMap((file) => {
        const own = folderOf(file.path);
        if (!folders.includes(own)) return [`${file.path}: ${own} has no place among the folders of ${area}`];
        return importsOf(file)
          .filter(({ to }) => inArea(to) && folders.indexOf(folderOf(to)) < folders.indexOf(own))
          .map(({ to }) => `${file.path} imports ${to}: ${folderOf(to)} lies above ${own}`);
      });
  });
}

const maxFiles = 24;

export function crowdedFolders(files: SourceFile[], allowed: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const { path } of files) {
    const folder = dirname(path);
    if (folder.startsWith("src")) counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  return [...counts]
    .filter(([folder, count]) => count > maxFiles && !allowed.includes(folder))
    .map(([folder, count]) => `${folder} has ${count} files, over ${maxFiles}: give it subfolders`);
}

const wordlessNames = /^(utils?|helpers?|common|misc|shared|types?|index)$/;
const maxLines = 350;

/** Names without meaning, and files that are too long. The limit is an alarm: `long` says why a file may be longer. */
export function unfitFiles(files: SourceFile[], long: Readonly<Record<string, string>> = {}): string[] {
  return files.flatMap(({ path, text }) => {
    const stem = (path.split("/").at(-1) ?? "").replace(/(\.test|\.d)?\.tsx?$/, "");
    const lines = text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
    const faults: string[] = [];
    if (wordlessNames.test(stem)) faults.push(`${path}: name it for the noun or verb inside`);
    if (!/^[a-z0-9]+(-[a-z0-9]+)*$/.test(stem)) faults.push(`${path}: file names are kebab-case`);
    if (lines > maxLines && !(path in long))
      faults.push(`${path} has ${lines} lines, over ${maxLines}: split it, or say in long-files.ts why not`);
    return faults;
  });
}
