import { createElement, Fragment, type ReactNode } from "react";
import { patternOf, shown, type TextKey, type ValuesOf } from "./text.ts";

/** A text with elements as values, for example a link: `rich("area.key", { name: <code>…</code> })`. */
export function rich<K extends TextKey>(key: K, ...[values]: ValuesOf<K, ReactNode>): ReactNode {
  const given = (values ?? {}) as Readonly<Record<string, ReactNode>>;
  const parts = patternOf(key, given).split(/\{(\w+)\}/);
  const children = parts.map((part, index) => {
    const value = index % 2 === 0 ? part : given[part];
    return typeof value === "number" ? shown(value) : value;
  });
  return createElement(Fragment, null, ...children);
}
