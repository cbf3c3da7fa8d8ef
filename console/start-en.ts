// A classic script that runs before the first paint and before the modules of the page.
import "./color-scheme.ts";
import { en } from "./text/en.ts";

globalThis.slipwayText = { language: "en", messages: en };
