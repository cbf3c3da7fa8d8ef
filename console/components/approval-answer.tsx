import { Textarea } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { useAct } from "../act.ts";
import { answerOf, api } from "../api.ts";
import { meQuery } from "../session.ts";
import type { Task } from "../shapes.ts";
import { t } from "../text/text.ts";
import { shortCommit } from "../time-text.ts";
import { ConfirmButton } from "./confirm.tsx";

type Answer = "approve" | "reject";

/** As the server asks for. */
const minReason = 5;

function useAnswer(id: number) {
  return useAct(
    ({ answer, comment }: { answer: Answer; comment: string }) =>
      answerOf(api.tasks[":id"][answer].$post({ param: { id }, json: { comment } })),
    {
      done: (task) => t(task.state === "canceled" ? "approval.rejected" : "approval.approved", { id }),
      refresh: ["task", "activity", "home", "notices"],
    },
  );
}

/** The buttons of a task that waits for an approval, for managers. To reject one's own work is always possible. */
export function ApprovalAnswer({ task }: { task: Task }) {
  const { data: me } = useQuery(meQuery);
  const needsReason = task.approval?.needsReason === true;
  const isExcluded = task.approval?.excluded?.some(({ username }) => username === me?.username);
  const mayApprove = needsReason ? me?.role === "admin" : isExcluded !== true;
  return (
    <>
      {mayApprove && (
        <AnswerButton
          task={task}
          answer="approve"
          field={t(needsReason ? "approval.overrideReason" : "approval.comment")}
          isRequired={needsReason}
        >
          <p>{t("approval.approveText")}</p>
          {needsReason && <p>{t("approval.needsReason")}</p>}
        </AnswerButton>
      )}
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
  isRequired = false,
  children,
}: {
  task: Task;
  answer: Answer;
  field: string;
  isRequired?: boolean;
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
      pageAction={t(isApproval ? "approval.approveConfirm" : "approval.rejectConfirm")}
      isDanger={!isApproval}
      {...(isApproval ? { variant: "filled" } : {})}
      onConfirm={() => mutateAsync({ answer, comment })}
    >
      {children}
      <Textarea
        label={field}
        maxLength={500}
        {...(isRequired ? { required: true, minLength: minReason } : {})}
        autosize
        minRows={2}
        value={comment}
        onChange={(event) => setComment(event.currentTarget.value)}
      />
    </ConfirmButton>
  );
}
