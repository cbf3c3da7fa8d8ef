import { ruleText } from "../../reason/rule-text.ts";
import { text } from "../../reason/schema-forms.ts";

/** As engines write it: host, path, tag or digest. It must not begin with a dash, which would be an option. */
const imageRule =
  /^[a-z0-9][\w.-]*(:\d{1,5})?(\/[a-z0-9][\w.-]*)*(:[\w][\w.-]{0,127})?(@[a-z0-9]+:[0-9a-f]{32,128})?$/i;

export const imageSchema = text(300)
  .refine((value) => value === "" || imageRule.test(value), ruleText("image_invalid"))
  .meta({ description: "Container image; empty: the project's.", example: "node:22" });
