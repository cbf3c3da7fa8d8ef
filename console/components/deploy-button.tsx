import { Button, Text, TextInput } from "@mantine/core";
import { useEffect, useState } from "react";
import { given } from "../address.ts";
import { usePageActions } from "../page-actions.ts";
import type { Project } from "../shapes.ts";
import { useRunProject } from "../task-query.ts";
import { t } from "../text/text.ts";
import { shortRef } from "../time-text.ts";
import { visible } from "../visible.ts";
import { FormModal } from "./form-modal.tsx";
import { Icon } from "./icon.tsx";

/** Asks what to deploy, starts the task, and opens it. */
export function DeployButton({
  project,
  isAsked = false,
  onAnswered,
}: {
  project: Pick<Project, "id" | "name" | "git">;
  /** Opens the question, for an address that asks for a deploy. */
  isAsked?: boolean;
  onAnswered?: () => void;
}) {
  const [isOpen, setOpen] = useState(isAsked);
  useEffect(() => {
    if (isAsked) setOpen(true);
  }, [isAsked]);
  const close = () => {
    setOpen(false);
    onAnswered?.();
  };
  const run = useRunProject(project.id);
  const name = visible(project.name);
  const ref = visible(shortRef(project.git.ref));
  usePageActions([{ title: t("search.run", { project: name }), run: () => setOpen(true) }]);
  return (
    <>
      <Button leftSection={<Icon name="play" size={14} />} onClick={() => setOpen(true)}>
        {t("project.deploy")}
      </Button>
      <FormModal
        title={t("project.deployTitle", { project: name })}
        submit={t("project.deploySubmit")}
        isOpen={isOpen}
        onClose={close}
        initial={{ ref: "", commit: "" }}
        onSubmit={(version) => run.mutateAsync(given(version))}
      >
        {({ text }) => (
          <>
            <Text size="sm">{t("project.deployAbout", { ref })}</Text>
            <TextInput label={t("project.otherRef")} placeholder={ref} data-autofocus {...text("ref")} />
            <TextInput
              label={t("project.otherCommit")}
              description={t("project.otherCommitHint")}
              className="script"
              {...text("commit")}
            />
          </>
        )}
      </FormModal>
    </>
  );
}
