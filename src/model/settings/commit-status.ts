import { z } from "zod";
import { ruleText } from "../../reason/rule-text.ts";
import { text } from "../../reason/schema-forms.ts";

/** How a project reports to the commits of its Git host. */
export const commitStatusSettings = z
  .object({
    context: text(200, 1)
      .refine((value) => value.trim() === value && !/\p{Cc}/u.test(value), ruleText("not_one_line_ends"))
      .meta({
        description:
          "Name of the status at the Git host. Statuses of one commit with the same context replace each other, so two projects of one repository need two.",
        example: "slipway/shop",
      }),
    skipped: z.boolean().meta({
      description:
        "Whether a push that a filter excluded gets a status `Skipped: …`. It is sent only where the commit has no status of this context.",
    }),
  })
  .meta({ id: "CommitStatusSettings" });
