import { NumberInput, Select, Textarea, TextInput } from "@mantine/core";
import type { ApiProblem } from "../../api.ts";
import type { TextName, TextProps } from "../../draft.ts";
import type { Project } from "../../shapes.ts";

/** The fields of the start stage that the other stages do not have. */
export type StartFields = Pick<Project["stages"]["start"], "previous" | "settleSeconds" | "log" | "switch">;

const choices: { value: StartFields["previous"]; label: string }[] = [
  { value: "stop-first", label: "ends before the start script runs" },
  { value: "stop-after-healthy", label: "ends when the new one is healthy" },
  { value: "keep", label: "is left to the start script" },
];

const about: Record<StartFields["previous"], string> = {
  "stop-first": "For a service on a fixed port. It is away for as long as the new one takes to start.",
  "stop-after-healthy": "Both run for a while: the runner chooses a free port, $PORT, for the new one.",
  keep: "For services that systemd, compose or pm2 manage.",
};

interface StartDraft {
  value: StartFields;
  set: (changes: Partial<StartFields>) => void;
  text: (name: TextName<StartFields>, path: string) => TextProps;
  refused: ApiProblem | null;
}

export function StartSettings({ draft: { value, set, text, refused } }: { draft: StartDraft }) {
  return (
    <>
      <Select
        label="The service of the previous release"
        description={about[value.previous]}
        data={choices}
        allowDeselect={false}
        value={value.previous}
        error={refused?.about("stages.start.previous")}
        onChange={(previous) =>
          set({
            previous: (previous ?? "keep") as StartFields["previous"],
            ...(previous === "stop-after-healthy" ? {} : { switch: "" }),
          })
        }
      />
      {value.previous === "stop-after-healthy" && (
        <Textarea
          label="Switch script"
          description="Points your proxy to 127.0.0.1:$PORT; after it the previous service ends."
          placeholder={
            'sed "s/@PORT@/$PORT/" upstream.conf >/etc/nginx/conf.d/shop.conf\nsudo nginx -s reload'
          }
          className="script"
          autosize
          minRows={2}
          spellCheck={false}
          {...text("switch", "stages.start.switch")}
        />
      )}
      <NumberInput
        label="Without a health check, it must run for"
        suffix=" s"
        min={0}
        max={600}
        maw={260}
        value={value.settleSeconds}
        error={refused?.about("stages.start.settleSeconds")}
        onChange={(seconds) => set({ settleSeconds: Number(seconds) })}
      />
      <TextInput
        label="Log file"
        description="If the service writes to a file in its folder. What it prints is shown in any case."
        placeholder="log/production.log"
        maw={420}
        {...text("log", "stages.start.log")}
      />
    </>
  );
}
