import { answerTexts } from "./answer-texts.ts";
import { fieldTexts } from "./field-texts.ts";
import { pipelineTexts } from "./pipeline-texts.ts";
import { reasonTexts } from "./reason-texts.ts";
import { systemTexts } from "./system-texts.ts";
import { warningTexts } from "./warning-texts.ts";

/** All texts with a stable code. */
export const allTexts = {
  ...reasonTexts,
  ...fieldTexts,
  ...answerTexts,
  ...warningTexts,
  ...systemTexts,
  ...pipelineTexts,
};
