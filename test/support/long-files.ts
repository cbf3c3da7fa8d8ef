/** Files that may be longer than others, and why: a cut would separate what belongs together. */
export const longFiles: Readonly<Record<string, string>> = {
  "src/runner/service/project-services.ts":
    "one project: what should run, what runs, and every way from one to the other",
  "src/runner/service/instance.ts": "one instance of a service: its folder, its keeper and its state",
  "src/runner/protocol.ts": "everything that server and runner know of each other",
  "src/runner/run/run-task.ts": "one task from its instruction to its result",
  "src/runner/workspace/workspace.ts": "what becomes of a workspace, whichever way it came",
  "src/config/config.ts": "a table of settings",
  "src/model/task.ts": "one task and what is asked of its keeper",
  "src/task/queue.ts": "the verbs of the queue",
  "src/reason/reason-texts.ts": "a table of texts",
  "console/text/zh-cn/reason.ts": "a table of texts",
  "console/pages/set-up/new-project.tsx": "one form",
  "test/unit/architecture.test.ts": "a table of the parts and their directions",
  "test/api/projects.test.ts": "one endpoint",
  "test/releases/transfer.test.ts": "two machines, and every way in which a move between them fails",
};
