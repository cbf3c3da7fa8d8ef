import { TextInput } from "@mantine/core";
import { ScriptEditor } from "../../components/script-editor.tsx";
import { t } from "../../text/text.ts";

/** The command of a service of a new project, and the port that was suggested for it. */
export function NewService({
  name,
  command,
  port,
  errorOf,
  onCommand,
  onPort,
}: {
  name: string;
  command: string;
  /** Undefined: it needs none. */
  port: string | undefined;
  errorOf: (field: "command" | "port") => string | undefined;
  onCommand: (command: string) => void;
  onPort: (port: string) => void;
}) {
  return (
    <>
      <ScriptEditor
        label={t("serviceForm.cardOf", { name })}
        description={t("serviceForm.commandHint")}
        minLines={1}
        value={command}
        error={errorOf("command")}
        onChange={(event) => onCommand(event.currentTarget.value)}
      />
      {port !== undefined && (
        <TextInput
          maw={420}
          required
          label={t("setUp.port", { name })}
          description={t("setUp.portHint")}
          value={port}
          error={errorOf("port")}
          onChange={(event) => onPort(event.currentTarget.value)}
        />
      )}
    </>
  );
}
