import { app } from "./en/app.ts";
import { words } from "./en/words.ts";

/** English: the reference for the keys of all languages. */
export const en = { app, words };
