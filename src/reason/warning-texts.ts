/** What the owner of a project or a webhook should decide, by stable code. */
export const warningTexts = {
  warn_no_secret: "The webhook is enabled without a secret: anyone who knows the address can start builds.",
  warn_no_base_url:
    "server.baseUrl is not set: the address is inferred and reachable from this machine only.",
  warn_tag_filter: "Patterns for tags are set, but tags are not among the events.",
  warn_branch_filter:
    "Patterns for branches are set, but neither pushes to branches nor merge requests are among the events.",
  warn_any_branch:
    "The branch filter is empty: a push of any branch is deployed. Set it to {branch}, or turn deploy and start off.",
  warn_any_branch_unnamed:
    "The branch filter is empty: a push of any branch is deployed. Set it to the branch that you deploy, or turn deploy and start off.",
  warn_approval_isolation:
    "Approvals do not protect this project from other scripts: on {runners}, scripts run without a sandbox, and those of other projects can change its workspace between build and deploy. Let them have their sandbox (Runners says what is missing) or set runner.image there, or let the project require the isolation sandbox.",
  warn_background:
    "The service {name} is a start script of version 1.0 that leaves processes in the background: it is up as long as one of them lives. Write each process as a service of its own, in the foreground: the command without &, nohup and a log file.",
  warn_start_port:
    "A step of start uses $PORT, which only services get. Write what it starts as a service with its command in the foreground, or set the variable PORT.",
  warn_disk:
    "Releases ({releases}) and data ({data}) of this project take {percent} % of the {limit} that it may have; a deploy that exceeds it fails. Keep fewer releases (runner.releases), clean its data folder, or raise the limit (limits.diskMb of the project, runner.projectQuota of the runner).",
  warn_not_sealed:
    "Deploy and start can write to the releases of this project, as in versions before 2.0. Name the folders that they write to as data or scratch, then seal its releases.",
  warn_new_project:
    "The branch filter of its webhook is empty: once the webhook is enabled, a push of any branch starts a task. Set the filter to {branch} if only that branch shall start one.",
  warn_merge_requests:
    "Every merge request is deployed as soon as it is opened. Choose “run other stages” for merge requests and leave only build on, unless each is meant to be deployed.",
  warn_debounce:
    "The debounce window covers the whole project: of branches that are pushed within {seconds} s only the last one is built. Set “Debounce together” to “pushes of the same branch or tag”.",
  warn_twice:
    "The Git host sends both push and create: a new branch or tag is announced twice and built once. Turn create off at the host.",
  warn_other_repository: "A recent delivery is about {other}, not the project's repository {repository}.",
  warn_other_repository_enforce:
    "A recent delivery is about {other}, not the project's repository {repository}. To ignore such deliveries, set “A delivery from another repository” to “is ignored”.",
  warn_not_polled: "The repository could not be polled: {why}",
  warn_status:
    "{other} reports commit statuses of the same repository under the same context {context}: each replaces the other's, so that a success hides a failure. Give each project its own “Context of commit statuses”.",
  warn_status_hidden:
    "another project reports commit statuses of the same repository under the same context {context}: each replaces the other's, so that a success hides a failure. Give each project its own “Context of commit statuses”.",
  warn_group_secrets_all:
    "Builds need no approval, and they get these secrets of the group {group}: {names}. Choose for each, on the page of the group, whether all stages get it, or only deploy and start.",
  warn_secrets_all:
    "Builds need no approval, and they get these secrets: {names}. Choose for each whether all stages get it, or only deploy and start.",
} as const;
