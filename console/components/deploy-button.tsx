import { Button, type ButtonProps, Text, TextInput } from "@mantine/core";
import { useEffect, useState } from "react";
import { given } from "../address.ts";
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
  isShort = false,
  isAsked = false,
  onAnswered,
  ...button
}: {
  project: Pick<Project, "id" | "name" | "git">;
  /** In a list, where the row names the project. */
  isShort?: boolean;
  /** Opens the question, for an address that asks for a deploy. */
  isAsked?: boolean;
  onAnswered?: () => void;
} & Omit<ButtonProps, "children">) {
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
  return (
    <>
      <Button
        leftSection={<Icon name="play" size={isShort ? 12 : 14} />}
        {...button}
        {...(isShort ? { "aria-label": t("project.deployNamed", { project: name }) } : {})}
        onClick={() => setOpen(true)}
      >
        {t(isShort ? "project.deployShort" : "project.deploy")}
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
