import { NativeSelect, Radio, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { useMoveProject } from "../release-query.ts";
import { t } from "../text/text.ts";
import { visible } from "../visible.ts";
import { ConfirmButton } from "./confirm.tsx";

interface Place {
  projectId: number;
  /** The runner that serves now. */
  runner: string;
  targets: { id: number; name: string }[];
  /** Data folders of the release that serves. */
  data: string[];
}

const anyRunner = "";

/** Lets another runner serve the project, with its data or without. */
export function MoveButton({ projectId, runner, targets, data }: Place) {
  const move = useMoveProject(projectId);
  const [target, setTarget] = useState(String(targets[0]?.id ?? anyRunner));
  const [choice, setChoice] = useState<"with" | "without">("with");
  const options = [
    ...targets.map(({ id, name }) => ({ value: String(id), label: visible(name) })),
    { value: anyRunner, label: t("project.moveAny") },
  ];
  const isReal = target !== anyRunner;
  return (
    <ConfirmButton
      size="compact-sm"
      label={t("project.move")}
      title={t("project.moveTitle")}
      confirm={t("project.moveSubmit")}
      onConfirm={() =>
        move.mutateAsync({
          runnerId: isReal ? Number(target) : null,
          ...(isReal && data.length > 0 ? { data: choice } : {}),
        })
      }
    >
      <Stack gap="sm">
        <NativeSelect
          label={t("project.moveTo")}
          data={options}
          value={target}
          onChange={(event) => setTarget(event.currentTarget.value)}
        />
        {isReal && data.length > 0 && (
          <Radio.Group
            label={t("project.moveData", { folders: visible(data.join(", ")) })}
            value={choice}
            onChange={(value) => setChoice(value === "with" ? "with" : "without")}
          >
            <Stack gap="xs" mt="xs">
              <Radio value="with" label={t("project.moveWithData")} />
              <Radio value="without" label={t("project.moveWithoutData")} />
            </Stack>
          </Radio.Group>
        )}
        <Text size="sm">{t(isReal ? "project.moveAbout" : "project.moveAnyAbout", { runner })}</Text>
      </Stack>
    </ConfirmButton>
  );
}
