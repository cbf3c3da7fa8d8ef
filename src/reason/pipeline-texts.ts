/** What is wrong with a pipeline in a file of the repository, by stable code. */
export const pipelineTexts = {
  file_fault: "{path}, line {line}, column {column}: {why}",
  file_field_fault: "{path}, line {line}, column {column}: {field} {why}",
  file_empty: "the file is empty; write at least build, deploy or start",
  file_no_map: "the file must be a map with build, deploy or start",
  file_path: "must be a file inside the repository, such as .slipway.yaml",
  file_port: "must be $PORT or none; a fixed port is set in the project, not in the file",
  file_host:
    "cannot be in the file: what runs outside of the sandbox is set in the project, by an administrator",
  file_network: "cannot be in the file: what has no network is set in the project",
  file_setting: "cannot be in the file: it is a setting of the project",
  file_quotes: "must be text; put it in quotes",
  file_port_of:
    "has no service {name}, which has a fixed port in the project; change the file or the project",
  file_network_of: "has no {title}, which has no network in the project; change the file or the project",
  file_missing: "The commit has no file {path}, which says the pipeline of the project.",
  file_not_regular: "{path} is no plain file of the repository, but a link, a folder or a submodule.",
  file_large: "{path} has more than {bytes} bytes.",
  file_faults: "{first} (and {count} more; the log has them all)",
  file_refused: "The server refused the pipeline of {path}.",
  file_not_asked: "The project no longer has its pipeline in the repository; run the task again.",
  file_needs_container:
    "names container images, and this runner runs no containers; the next task waits for a runner that does",
  file_limit: "must be at most {limit}, which is the limit of the project",
  file_in_repository: "cannot be changed here: the file {path} of the repository says it",
  file_only: "is for a pipeline from the repository",
  file_host_steps: "cannot be repository while steps run outside of the sandbox: {names}",
  file_expanded: "the pipeline has more than {limit} characters once its aliases are filled in",
  yaml_invalid: "this is not readable YAML: {why}",
  yaml_repeated: "this name is there twice; put both parts together",
  yaml_documents: "a second document begins here; remove the ---",
  yaml_tab: "a tab is used for the indentation; use spaces",
} as const;
