import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { en } from "../../console/text/en.ts";
import type { Area, Message } from "../../console/text/message.ts";
import { zhCN } from "../../console/text/zh-cn.ts";
import { allTexts } from "../../src/reason/all-texts.ts";
import { stringsOf, textOutsideCatalogue } from "../support/console-text.ts";

const root = join(import.meta.dir, "../..");
/** The page of components is for its developers, in English. */
const notTranslated = /^console\/(text\/(en|zh-cn)[/.]|review\/)/;
const files = [...new Bun.Glob("console/**/*.{ts,tsx}").scanSync(root)]
  .filter((path) => !notTranslated.test(path))
  .sort()
  .map((path) => ({ path, source: readFileSync(join(root, path), "utf8") }));

/** The server sends the English texts of `reason`, so the English console needs none of them. */
const english = { ...en, reason: allTexts };
const catalogues: Record<string, Readonly<Record<string, Area>>> = { en: english, "zh-CN": zhCN };

function entriesOf(catalogue: Readonly<Record<string, Area>>): [string, Message][] {
  return Object.entries(catalogue).flatMap(([area, messages]) =>
    Object.entries(messages).map(([key, message]): [string, Message] => [`${area}.${key}`, message]),
  );
}

const formsOf = (message: Message) => (typeof message === "string" ? [message] : Object.values(message));

const placeholdersOf = (text: string) =>
  [...new Set([...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name))].sort();

describe("the catalogue of the console", () => {
  test("has the same keys in all languages", () => {
    const keysOf = (catalogue: Readonly<Record<string, Area>>) => entriesOf(catalogue).map(([key]) => key);
    for (const catalogue of Object.values(catalogues))
      expect(keysOf(catalogue).sort()).toEqual(keysOf(english).sort());
  });

  test("has every placeholder of the English text in every language", () => {
    const englishTexts = new Map(entriesOf(english));
    const wrong = Object.entries(catalogues).flatMap(([language, catalogue]) =>
      entriesOf(catalogue).flatMap(([key, message]) => {
        const [reference = ""] = formsOf(englishTexts.get(key) ?? "").slice(-1);
        const wanted = placeholdersOf(reference);
        return (
          formsOf(message)
            .filter((text) => !Bun.deepEquals(placeholdersOf(text), wanted))
            // "1 task" may be written without its number.
            .filter((text) => !Bun.deepEquals(placeholdersOf(`${text}{count}`), wanted))
            .map((text) => `${language} ${key}: ${text}`)
        );
      }),
    );
    expect(wrong).toEqual([]);
  });

  test("has exactly the plural categories of each language", () => {
    const wrong = Object.entries(catalogues).flatMap(([language, catalogue]) => {
      const categories = new Intl.PluralRules(language).resolvedOptions().pluralCategories.sort();
      return entriesOf(catalogue)
        .filter(([, message]) => typeof message !== "string")
        .filter(([, message]) => !Bun.deepEquals(Object.keys(message).sort(), categories))
        .map(([key]) => `${language} ${key} needs ${categories.join(", ")}`);
    });
    expect(wrong).toEqual([]);
  });

  test("has no empty text, and no English text in the Chinese catalogue", () => {
    const englishTexts = new Map(entriesOf(english));
    const empty = entriesOf(en).filter(([, message]) => formsOf(message).some((text) => text.trim() === ""));
    expect(empty.map(([key]) => key)).toEqual([]);
    const copied = entriesOf(zhCN).filter(([key, message]) => {
      const isSame = Bun.deepEquals(message, englishTexts.get(key));
      return isSame && formsOf(message).some((text) => /\p{L}+ \p{L}+ \p{L}+/u.test(text));
    });
    expect(copied.map(([key]) => key)).toEqual([]);
  });

  test("has no key that the console does not use", () => {
    const strings = files.map(({ path, source }) => stringsOf(path, source));
    const whole = new Set(strings.flatMap((each) => each.whole));
    const beginnings = strings.flatMap((each) => each.beginnings).filter((text) => /^\w+\./.test(text));
    const unused = entriesOf(en)
      .map(([key]) => key)
      .filter((key) => !whole.has(key) && !beginnings.some((text) => key.startsWith(text)));
    expect(unused).toEqual([]);
  });
});

test("every text of the console is in the catalogue", () => {
  const found = files.flatMap(({ path, source }) =>
    textOutsideCatalogue(path, source).map(({ line, text }) => `${path}:${line} ${text}`),
  );
  expect(found).toEqual([]);
});

describe("the checker of the catalogue", () => {
  const textsIn = (source: string) => textOutsideCatalogue("a.tsx", source).map(({ text }) => text);

  test("finds text in elements, attributes, conditions, templates and properties", () => {
    expect(textsIn("const a = <p>Hello\n  there <b>you</b></p>;")).toEqual(["Hello there", "you"]);
    expect(textsIn('const a = <Input label="Name" type="text" />;')).toEqual(["Name"]);
    expect(textsIn('const a = <Input aria-label={isOn ? "On" : "Off"} />;')).toEqual(["On", "Off"]);
    expect(textsIn(`const a = <p title={\`Delete \${name}\`}>{isOn && \`no \${x}\`}</p>;`)).toEqual([
      "Delete",
      "no",
    ]);
    expect(textsIn('const a = { title: "Name", key: "name" };')).toEqual(["Name"]);
    expect(textsIn('say("It was saved.");')).toEqual(["It was saved."]);
    expect(textsIn('const a = () => "just now"; function b() { return x ? "not yet" : ""; }')).toEqual([
      "just now",
      "not yet",
    ]);
    expect(textsIn('const a = <p title={"a" + text + "of it"} />;')).toEqual(["of it"]);
  });

  test("accepts keys, code, comparisons, class names and the name of the product", () => {
    expect(
      textsIn('const a = <p className="big one" title={t("words.close")}>{t("words.close")}</p>;'),
    ).toEqual([]);
    expect(textsIn("const a = <code>git push</code>;")).toEqual([]);
    expect(textsIn('const a = <p>{state === "on" ? <Icon name="check" /> : null} · 7</p>;')).toEqual([]);
    expect(textsIn(`const a = <title>{\`\${t(key)} · Slipway\`}</title>;`)).toEqual([]);
  });
});
