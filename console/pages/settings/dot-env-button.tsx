import { Textarea } from "@mantine/core";
import { FormButton } from "../../components/form-modal.tsx";
import { readDotEnv } from "../../dot-env.ts";
import { t } from "../../text/text.ts";

interface Variable {
  name: string;
  value: string;
}

const example = "NODE_ENV=production\nPORT=8080";

/** Reads variables from a pasted `.env` file. They are unsaved changes until the user saves the form. */
export function DotEnvButton({ rows, onRead }: { rows: Variable[]; onRead: (rows: Variable[]) => void }) {
  return (
    <FormButton
      title={t("variables.pasteEnv")}
      submit={t("variables.pasteEnvSubmit")}
      button={{ variant: "default", size: "compact-sm" }}
      initial={{ file: "" }}
      onSubmit={async ({ file }) => {
        const { variables } = readDotEnv(file);
        const read = new Map(variables.map(({ name, value }) => [name, value]));
        const kept = rows.map(({ name, value }) => ({ name, value: read.get(name) ?? value }));
        const added = variables.filter(({ name }) => !rows.some((row) => row.name === name));
        onRead([...kept, ...added]);
      }}
    >
      {({ value, text }) => (
        <Textarea
          className="script"
          label={t("variables.envFile")}
          description={t("variables.envFileHint")}
          required
          data-autofocus
          autosize
          minRows={8}
          maxRows={18}
          spellCheck={false}
          placeholder={example}
          {...text("file")}
          inputWrapperOrder={["label", "description", "input", "error"]}
          error={summaryFault(value.file)}
        />
      )}
    </FormButton>
  );
}

/** Names the lines that are not read. */
function summaryFault(file: string): string | undefined {
  const { unreadLines } = readDotEnv(file);
  if (unreadLines.length === 0) return undefined;
  return t("variables.unreadLines", {
    count: unreadLines.length,
    lines: unreadLines.slice(0, 10).join(", "),
  });
}
