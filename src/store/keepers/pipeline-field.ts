import type { TaskApproval } from "../../model/approval/task-approval.ts";
import { completePipeline, type Pipeline } from "../../model/pipeline.ts";
import type { Field } from "../query/row.ts";

/** A field that was added after a pipeline was stored has its default. */
export const pipelineField: Field<Pipeline> = {
  encode: (pipeline) => JSON.stringify(pipeline),
  decode: (stored) => completePipeline(JSON.parse(String(stored))),
};

/** An approval has pinned a pipeline. */
export const approvalField: Field<TaskApproval> = {
  encode: (approval) => JSON.stringify(approval),
  decode(stored) {
    const { pinned, ...approval } = JSON.parse(String(stored)) as TaskApproval;
    return { ...approval, pinned: { ...pinned, pipeline: completePipeline(pinned.pipeline) } };
  },
};
