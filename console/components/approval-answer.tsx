import { Textarea } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { useAct } from "../act.ts";
import { answerOf, api } from "../api.ts";
import type { Task } from "../shapes.ts";
import { t } from "../text/text.ts";
import { shortCommit } from "../time-text.ts";
import { ConfirmButton } from "./confirm.tsx";

type Answer = "approve" | "reject";

function useAnswer(id: number) {
  return useAct(
    ({ answer, comment }: { answer: Answer; comment: string }) =>
      answerOf(api.tasks[":id"][answer].$post({ param: { id }, json: { comment } })),
    {
      done: (task) => t(task.state === "canceled" ? "approval.rejected" : "approval.approved", { id }),
      refresh: ["task", "tasks", "overview", "notices"],
    },
  );
}

/** The buttons of a task that waits for an approval, for people who may answer. */
export function ApprovalAnswer({ task }: { task: Task }) {
  return (
    <>
      <AnswerButton task={task} answer="approve" field={t("approval.comment")}>
        <p>{t("approval.approveText")}</p>
        {task.approval?.notByPusher && <p>{t("approval.notByPusher")}</p>}
      </AnswerButton>
      <AnswerButton task={task} answer="reject" field={t("approval.reason")}>
        <p>{t("approval.rejectText")}</p>
      </AnswerButton>
    </>
  );
}

function AnswerButton({
  task,
  answer,
  field,
  children,
}: {
  task: Task;
  answer: Answer;
  field: string;
  children: ReactNode;
}) {
  const [comment, setComment] = useState("");
  const { mutateAsync } = useAnswer(task.id);
  const commit = shortCommit(task.commit ?? "");
  const isApproval = answer === "approve";
  return (
    <ConfirmButton
      label={t(isApproval ? "approval.approve" : "approval.reject")}
      title={isApproval ? t("approval.approveTitle", { commit }) : t("approval.rejectTitle", { id: task.id })}
      confirm={t(isApproval ? "approval.approveConfirm" : "approval.rejectConfirm")}
      isDanger={!isApproval}
      {...(isApproval ? { variant: "filled" } : {})}
      onConfirm={() => mutateAsync({ answer, comment })}
    >
      {children}
      <Textarea
        label={field}
        maxLength={500}
        autosize
        minRows={2}
        value={comment}
        onChange={(event) => setComment(event.currentTarget.value)}
      />
    </ConfirmButton>
  );
}
