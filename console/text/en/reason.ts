/** Reasons of the server: its own texts. */
export { reasonTexts as reason } from "../../../src/reason/reason-texts.ts";
