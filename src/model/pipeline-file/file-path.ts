import { ruleText } from "../../reason/rule-text.ts";
import { text } from "../../reason/schema-forms.ts";

export const defaultFilePath = ".slipway.yaml";

/** Where the repository has its pipeline. */
export const filePath = text(300, 1)
  .refine(
    (path) =>
      path.split("/").every((part) => part !== "" && part !== "." && part !== "..") &&
      path.split("/")[0] !== ".git" &&
      !/[\p{Cc}\\]/u.test(path),
    ruleText("file_path"),
  )
  .meta({ description: "File of the repository.", example: defaultFilePath });
