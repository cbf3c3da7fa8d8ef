import { expect, test } from "bun:test";
import { checksOf } from "../../console/pages/set-up/preset-fields.ts";
import { en } from "../../console/text/en.ts";
import { reasonIn } from "../../console/text/reason-text.ts";
import { presetsFor } from "../../src/set-up/presets.ts";

globalThis.slipwayText = { language: "en", messages: en };

test("a reason has commits as short as the rest of the page, but not in an address", () => {
  const commit = "0123456789abcdef0123456789abcdef01234567";
  expect(reasonIn(`${commit} is not reachable`)).toBe("0123456 is not reachable");
  expect(reasonIn(`see https://git.example.com/shop/commit/${commit}`)).toContain(commit);
  expect(reasonIn(`${commit}89`)).toBe(`${commit}89`);
});

test("the checks of a preset are sentences", () => {
  const checks = (file: string, texts: [string, string][] = []) =>
    presetsFor([file], new Map(texts), "shop")
      .slice(0, 1)
      .flatMap((preset) => checksOf(preset, { web: "8080" }));
  expect(checks("Dockerfile")).toEqual(["the program answers at 127.0.0.1:8080"]);
  expect(checks("Procfile", [["Procfile", "web: node server.js"]])).toEqual(["web answers on port 8080"]);
  expect(checks("go.mod")[0]).toBe("web answers on port 8080");
});
