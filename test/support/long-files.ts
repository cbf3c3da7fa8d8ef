/** Files that may be longer than others, and why: a cut would separate what belongs together. */
export const longFiles: Readonly<Record<string, string>> = {
  "src/runner/service/project-services.ts":
    "one project: what should run, what runs, and every way from one to the other",
  "src/runner/service/instance.ts": "one instance of a service: its folder, its keeper and its state",
  "src/runner/protocol.ts": "everything that server and runner know of each other",
  "src/reason/reason-texts.ts": "a table of texts",
  "console/pages/set-up/new-project.tsx": "one form",
  "test/unit/architecture.test.ts": "a table of the parts and their directions",
  "test/api/projects.test.ts": "one endpoint",
};
