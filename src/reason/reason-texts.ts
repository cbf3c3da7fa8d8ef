/**
 * The reasons that the server and its runners give for decisions, by stable code. The API sends code and values beside the
 * English text; the console has each text in its other languages.
 */
export const reasonTexts = {
  event_allowed: "The event is allowed.",
  event_not_listed: "The event {event} is not among those allowed ({events}).",
  no_ref: "The delivery names no branch or tag.",
  ref_unsafe: "The ref is none that can be built: not allowed by Git, or unsafe in a script.",
  commit_invalid: "The commit is no commit name: 40 or 64 hexadecimal digits are expected.",
  ref_outside: "A push builds a branch (refs/heads/…) or a tag (refs/tags/…); {ref} is neither.",
  ref_nested: "The name of {ref} begins with refs/, so that it could be taken for another ref; rename it.",
  fork_allowed: "The merge request comes from a fork; the project allows them.",
  fork_not_allowed:
    "The merge request comes from a fork; the project does not accept merge requests from forks.",
  no_branch_filter: "No branch filter is set.",
  no_tag_filter: "No tag filter is set.",
  branch_matches: "The branch matches {pattern}.",
  tag_matches: "The tag matches {pattern}.",
  branch_too_complex:
    "The branch filter is too complex to evaluate, so {ref} is not built. Use fewer or simpler patterns.",
  tag_too_complex:
    "The tag filter is too complex to evaluate, so {ref} is not built. Use fewer or simpler patterns.",
  branch_not_matched: "The branch {ref} matches none of {patterns}.",
  tag_not_matched: "The tag {ref} matches none of {patterns}.",
  environment_takes: "The environment {environment} takes this ref.",
  environment_none: "No environment takes {ref} ({patterns}).",
  environment_too_complex:
    "The refs of the environments are too complex to evaluate, so {ref} is not built. Use fewer or simpler patterns.",
  no_path_filter: "No path filter is set.",
  paths_unknown: "The changed paths are unknown ({why}), so the delivery passes.",
  path_matches: "{path} matches {pattern}.",
  paths_too_complex:
    "The path filter is too complex for the changed paths ({files}): it was not evaluated, so the delivery passes. Use fewer or simpler patterns.",
  path_not_matched: "None of the changed paths ({files}) matches {patterns}.",
  one_file: "1 file",
  many_files: "{number} files",
  keyword_found: "The commit message contains {keyword}.",
  keyword_absent: "The commit message does not contain {keyword}.",
  debounce_off: "Debounce is off.",
  debounce_skipped: "Not debounced.",
  debounce_first: "No delivery was accepted inside the window.",
  debounce_full: "The task of the window can take no more.",
  debounce_would_merge: "It would be merged into task {task}.",
  debounce_merged: "Merged into task {task}, which waits for the window of {window} to close.",
  debounce_merged_instead:
    "Merged into task {task}, which waits for the window of {window} to close; it builds {built} instead of {displaced}.",
  queue_open: "Tasks queue up.",
  queue_free: "The project has no unfinished task.",
  queue_busy: "The project has an unfinished task ({task}, {state}), and its queue policy is skip.",
  all_passed: "All filters passed.",
  task_would_start: "A task would be created.",
  task_started: "A task was created.",
  no_event: "The payload holds no event.",
  not_built: "Not built: {why}",
  one_ref_only: "It passes too, but of one delivery one ref is built.",
  aside_too_complex:
    "The filters are too complex to evaluate every ref of the push, so these are not built: {refs}.",
  aside_others: "The push names other refs, which are not built: {refs}.",
  aside_none: "No other ref of the push passes either: {refs}.",
  not_recorded: "The delivery could not be recorded.",
  unexpected_error: "An unexpected error; the log has the details.",
  not_enabled: "The webhook of this project is not enabled.",
  endpoint_gone: "The key was reset, or the project deleted, meanwhile.",
  overtaken: "Another delivery has handled the ref since the poll.",
  lock_timeout:
    "Deliveries are too dense: the project was busy with others for {seconds} s. Replay this one later.",
  rate_limited: "The project had {limit} deliveries in the last minute, which is its limit.",
  rate_limited_unlisted:
    "The project had {limit} deliveries of events that it does not listen to in the last minute, which is its limit.",
  within_rate: "The project is within its rate.",
  within_rate_unlisted: "The project is within its rate of events that it does not listen to.",
  enabled: "The webhook is enabled.",
  size_ok: "The body is within the limit.",
  unsigned: "No secret is set, so nothing is verified.",
  signature_ok: "The signature is right.",
  failed_signatures: "Too many failed signatures from {address}: more than {limit} a minute.",
  address_reset: "The address was reset; give the host the new one.",
  unknown_endpoint: "There is no such endpoint.",
  body_broken: "The body did not arrive whole.",
  body_too_large: "The body is larger than {limit} KB.",
  body_empty: "The body is empty; a JSON object is expected.",
  body_no_object: "The body is JSON, but not an object.",
  body_compressed: "The body is compressed ({encoding}); send it plain.",
  repeated: "The host announced this change already by {event}: task {task} builds it.",
  repository_warned:
    "The delivery is about {other}, not the project's repository {own}. The project only notes this.",
  repository_mismatch:
    "The delivery is about {other}, not the project's repository {own}. If the repository was renamed or moved, enter its new clone URL in the project; if not, remove the webhook from the other repository.",
  poll_found: "A poll of the repository has found this commit already; task {task} builds it.",
  polled: "A poll found it at the Git host; before: {before}.",
  replaced:
    "Delivery {delivery} took over the task within the debounce window: the task builds the ref and commit of that delivery.",
  ref_deleted: "{ref} was deleted; there is nothing to build.",
  event_never: "The event {event} never starts a build.",
  event_unknown: "The event {event} is none of push, tag, merge_request.",
  probe_no_ref: "The body names no ref: a probe of the host.",
  probe_no_request: "The body describes no merge request: a probe of the host.",
  probe_nothing: "The body names neither event nor ref: a probe.",
  probe_host_ping: "The host's ping arrived; the address is right.",
  probe_ping: "The ping arrived; the address is right.",
  merge_request_action: "The merge request's action ({action}) does not change the code to build.",
  paths_no_commits: "the host sent no list of commits",
  paths_empty_commits: "the host sent an empty list of commits",
  paths_no_files: "the host's commits name no files",
  paths_too_many: "the push changes more than {number} files",
  paths_cut: "the host sent {sent} of {total} commits",
  paths_asked: "{why}; the host was asked for the changed files: {number}",
  paths_not_asked: "{why}, and it could not be asked for the changed files: {fault}",
  paths_ask_busy: "other deliveries are asking their hosts",
  paths_cut_ten: "the host sent only {sent} commits of more than ten",
  paths_limited: "the host sends at most {number} commits",
  paths_forced: "a forced push does not list the files of removed commits",
  paths_not_listed: "the payload has no list of paths",
  paths_listed_too_many: "the payload lists more than {number} paths",
  paths_merge_request: "merge requests name no changed files",
  paths_tag: "a tag names no changed files",
  paths_new_ref: "a new ref names no changed files",
  paths_ref_new: "the ref is new",
  paths_gone: "the commit before is no longer at the host",
  paths_not_compared: "git could not compare them",
  paths_many: "more than {number} files changed",
  paths_bitbucket: "Bitbucket sends no changed files",
  paths_unproven: "the sender is not verified, so its long list of paths was not kept",
  signature_failed: "The signature failed: {why}.",
  proof_changed: "its secret, or how it is checked, was changed while the delivery arrived",
  signature_flood: "part of a flood, not examined further",
  signature_differs: "the secret on the host differs from the one here",
  signature_differs_or_changed: "the secret differs, or the body was changed on the way",
  signature_empty_header:
    "header {header} is empty, so the host has no secret: set the secret on the host too",
  signature_missing: "header {header} is missing: set the secret on the host too",
  signature_missing_standard:
    "{why}, but there is a {header}: check “Proof of the sender” under Source and webhook",
  signature_missing_sha256: "{why}; there is only a SHA-1 signature, which is not accepted",
  signature_missing_provider: "{why}, but there is one of {host}: check the provider",
  signature_missing_plain: "header {header} is missing",
  signature_missing_both: "header {header} and query parameter {parameter} are missing",
  signature_ended: "it was made with a secret that is no longer accepted",
  signature_empty_secret: "it was made with an empty secret: set the secret on the host too",
  signature_space:
    "it matches when white space around the secret is removed or a newline is added: paste the secret without them",
  signature_secret_sent: "the secret itself was sent where a signature is expected",
  signature_hmac_sent:
    "an HMAC signature was sent where the plain secret is expected: check “Proof of the sender” under Source and webhook",
  signature_encoding:
    "it matches with another prefix or encoding: check “Prefix” and “Encoding” under Source and webhook",
  signature_form:
    "it matches the JSON inside the form body: choose the content type application/json on the host",
  signature_newline: "it matches the body without its last newline: something on the way changes the body",
  signature_rewritten: "it matches the body as JSON written anew: something on the way rewrites the body",
  signature_clock_hour: "the signed timestamp is more than an hour off: check the clocks",
  signature_headers: "{id} or {timestamp} is missing beside the signature",
  signature_clock: "the signed timestamp is more than five minutes off: check the clocks",
  signature_base64: "it matches when the secret is read as base64: save it here with whsec_ in front",
  signature_sha1: "it is a SHA-1 signature, which is not accepted",
  canceled: "canceled",
  canceled_by: "canceled by {user}",
  canceled_by_stop: "canceled by {user}, who stopped the service (task {task})",
  superseded_by: "superseded by task {task}",
  approved_by: "approved by {user}",
  approved_by_with: "approved by {user}: {comment}",
  approved_by_override: "approved by {user}, because nobody else may: {comment}",
  rejected_by: "rejected by {user}",
  rejected_by_with: "rejected by {user}: {comment}",
  approval_expired: "nobody approved it in time",
  approval_waiting: "Waiting for approval until {time} UTC.",
  approval_runner_gone: "The runner that has the approved build is gone or not used any more.",
  approval_build_gone: "The approved build is gone from its runner.",
  approval_secrets_added:
    "These secrets were stored after the approval was requested, so that the deploy needs a new approval: {names}.",
  approval_secrets_shadow:
    "These secrets were stored after the approval was requested and replace variables of the same name, so that the deploy needs a new approval: {names}.",
  approval_again: "It is built again, and its approval is requested again.",
  runner_vanished_queued: "The runner vanished before deploy began; the task was queued once more.",
  runner_vanished_during:
    "The runner vanished during {stage}. How far it came is not known, so it is not run again by itself.",
  runner_vanished_twice: "The runner vanished a second time; the task is not run again by itself.",
  runner_was_deleted:
    "The runner {runner}, which alone could do this, was deleted. What it has started goes on there until it is ended on that machine.",
  runner_stuck: "The runner did not end the task in time, so it was given up.",
  rolled_back: "{failed} failed; {serving} is serving again.",
  put_back: "{failed} failed; {serving} was put back. Nothing checks whether it works.",
  still_serving: "{failed} failed; {serving} is still serving.",
  rolling_back: "{failed} failed; rolling back to {serving}.",
  rollback_failed:
    "{failed} failed, and so did the rollback to {serving}: {detail}. Nothing is known to be serving.",
  stage_failed: "{stage} failed with exit code {exitCode}",
  stage_failed_because: "{stage} failed with exit code {exitCode}: {why}",
  container_not_started: "the container could not be started; its log says why",
  container_ulimit:
    "the engine may not give the container higher limits (ulimit) than this machine allows; set runner.engineArguments of the runner to {arguments}",
  container_runtime_missing:
    "the container runtime {runtime} is not installed on the runner; install it, or name another one in runner.engineArguments, such as --runtime=runc",
  command_not_found: "a command was not found; the image may lack it, or a shell",
  memory_limit: "a process was killed, probably by the memory limit of {limit} MB",
  stage_timeout: "{stage} ran longer than {seconds} s",
  stage_too_long: "{stage} ran longer than allowed",
  folder_missing: "The folder {folder} of {stage} does not exist in the repository.",
  health_failed: "The health check of {check} did not pass within {seconds} s: {found}",
  commit_unreachable: "commit {commit} is no longer reachable from {ref}",
  git_no_connection: "{host} accepted no connection within {seconds} s",
  git_host_silent: "the Git host sent nothing for {seconds} s",
  git_timeout: "git did not finish within {seconds} s",
  port_held_task: "port {port} is still held by task {task} (commit {commit})",
  port_held_process: "port {port} is held by {name} (process {pid}), which was running before this start",
  port_held_user: "port {port} is held by a process of another user that was running before this start",
  no_port:
    "no port from {first} to {last} is free (runner.ports): end what listens there, or set another range",
  port_taken: "port {port} is held by {name} (process {pid}), which is not part of the service",
  port_taken_user: "port {port} is held by a process of another user, which is not part of the service",
  port_not_own: "no process of the service listens on port {port}",
  check_status: "status {status}",
  check_lacks: 'the response does not contain "{text}"',
  service_exited: "the service {name} ended by itself ({code}); last output: {output}",
  service_exited_silent: "the service {name} ended by itself ({code}); there was no output",
  service_check_failed:
    "the check of the service {name} ({check}) did not pass within {seconds} s: {found}; last output: {output}",
  service_check_failed_silent:
    "the check of the service {name} ({check}) did not pass within {seconds} s: {found}; there was no output",
  service_unknown: "the release that serves on this runner has no service {name}",
  services_need_linux: "services need Linux: run the project on a runner with Linux, or use steps of start",
  services_need_programs:
    "services need the programs {programs} on the machine of the runner: install the packages util-linux and coreutils",
  proxy_none:
    "this runner serves no routes (runner.proxy is none): set runner.proxy to caddy or nginx, or use another runner",
  proxy_port_taken:
    "port {port} of the machine is held by {name} (process {pid}): end it, or set runner.httpPort and runner.httpsPort",
  proxy_port_taken_user:
    "port {port} of the machine is held by a process of another user: end it, or set runner.httpPort and runner.httpsPort",
  proxy_port_denied:
    "the proxy may not listen on port {port}: give the runner the capability CAP_NET_BIND_SERVICE, lower the sysctl net.ipv4.ip_unprivileged_port_start, or set runner.httpPort and runner.httpsPort",
  proxy_folder_long:
    "the path {folder} is too long for a socket of the proxy: set runner.dir to a folder with a shorter path",
  caddy_missing:
    "routes need Caddy {oldest} or newer on the machine of the runner: install it from caddyserver.com/docs/install, or set runner.caddyProgram, or use nginx (runner.proxy)",
  caddy_not_found: "runner.caddyProgram: there is no program {program}",
  caddy_old:
    "{program} is Caddy {version}, and routes need {oldest} or newer: install the package of the project itself (caddyserver.com/docs/install), or name another program with runner.caddyProgram",
  caddy_refused: "Caddy refused the configuration of the routes: {found}",
  caddy_no_answer: "Caddy does not answer at {address}: {found}",
  nginx_folder_missing:
    "runner.proxy is nginx, but runner.nginx is not set: name a folder whose *.conf nginx includes in its http block",
  nginx_refused: "{command} failed: {found}",
  nginx_no_tls:
    "the route {domain} has TLS, which nginx has in its own configuration: set tls to off, or use Caddy (runner.proxy)",
  route_taken_here:
    "the route {place} still belongs to a release of project {project} on this runner: deploy that project without it first",
  route_unresolved: "the name {domain} has no address: create its record at the name server",
  route_elsewhere:
    "the name {domain} leads to {addresses}, which is no address of this machine: its record must lead here, or a router must pass ports {http} and {https} on",
  route_refused: "the authority gave no certificate for {domain}: {found}",
  processes_exited: "all started processes have exited; last output: {output}",
  processes_exited_silent: "all started processes have exited; there was no output",
  held_and_exited: "{why}; all started processes have exited; last output: {output}",
  held_and_exited_silent: "{why}; all started processes have exited; there was no output",
  processes_left:
    "{what} was ended, but not its processes {pids}: they belong to another user or hang in the kernel. End them by hand.",
  and_left: "{why}. {left}",
  no_container_engine:
    "{stage} needs a container of {image}, but this runner has no container engine: install podman or docker there, or run the project on another runner.",
  no_network_needs_container:
    "{stage} must have no network, which needs a sandbox or a container: let the runner have its sandbox (Runners says what is missing), or give the stage or the project an image.",
  project_deleted: "The project has been deleted.",
  git_url_changed:
    "The project's clone URL was changed after the approval was requested, and the commit must be built again; run it again.",
  git_url_refused: "The project's clone URL {why}.",
  secret_unreadable: "The project's secret {name} cannot be opened: {message}",
  ref_missing: "{ref} does not exist in {url}.",
  branch_missing: "{ref} does not exist in {url} as a branch; a tag is named refs/tags/{tag}.",
  fetch_failed: "git could not fetch {ref}: {why}",
  checkout_failed: "The commit could not be checked out: {why}",
  git_silent: "git did not say why",
  workspace_not_made: "A workspace could not be made: {why}",
  clone_not_made: "The project's cached clone could not be made: {why}",
  commit_unreadable: "The commit could not be read: {why}",
  submodules_fork: "The submodules of a fork, which gets no clone credential, could not be fetched: {why}",
  lfs_missing:
    "The runner does not have git-lfs, which the setting for Git LFS of this project needs: install the package git-lfs on it",
  lfs_failed: "The files of Git LFS could not be fetched: {why}",
  submodules_failed: "The submodules could not be fetched: {why}",
  submodules_key:
    "The submodules could not be fetched: {why}. A deploy key opens one repository only: store an access token, or the SSH key of an account, that may read the repository and its submodules",
  clone_redirected:
    "the host redirects {url}, so the repository was renamed or moved; enter its new clone URL in the project",
  ssh_host_key:
    "the SSH host key of {host} differs from the key in this {program}'s known_hosts: either the host has a new key, or the connection is intercepted; if the new key is the host's own, remove the old key from known_hosts on the {program}'s machine (the log shows the command)",
  ssh_passphrase: "the project's SSH key is protected by a passphrase; store a key without a passphrase",
  ssh_key_unreadable: "the project's SSH key cannot be read; store the whole private key, from BEGIN to END",
  ssh_no_user:
    "{host} rejects the project's SSH key, and the address names no user; most hosts expect git@{host}",
  ssh_key_rejected:
    "{host} rejects the project's SSH key for the user {user}; add its public key there as a deploy key, or store the right private key",
  ssh_key_missing:
    "{host} asks for an SSH key and the project has none; store one with PUT /api/projects/<id>/credential",
  no_repository_there: "there is no Git repository at {url}",
  ssh_unresolved: "the host name {host} cannot be resolved",
  ssh_refused: "{host} refused the SSH connection",
  ssh_unreachable: "{host} could not be reached",
  runner_failed: "The runner failed: {message}",
  workspace_changed:
    "The built workspace was changed after its build ({files}), so that it is not what was approved; nothing was deployed. Run the task again.",
  release_changed:
    "The kept workspace of task {task} was changed after its deploy ({files}), so that it is not what was approved. It is not used; a rollback by hand builds it again.",
  host_steps_off:
    "{stage} runs outside of the sandbox, which this runner does not allow: set runner.hostSteps to true there, or change the step.",
  sandbox_program:
    "{program} is in {folder}, which sandboxes do not show: add the folder to runner.sandboxPaths of the runner",
  release_folder_taken:
    "The folder {folder} of data or scratch cannot be made: the repository or the build has a file or a link in its place.",
  workspace_not_copied: "The workspace could not be separated from its caches: {message}",
  nothing_serves: "This runner has no release of the project that serves. Deploy it first.",
  no_sandbox_setting: "runner.isolation is none: unset it, and scripts run in sandboxes",
  no_sandbox_linux: "the sandbox needs Linux",
  no_sandbox_installed:
    "bubblewrap is not installed: install the package bubblewrap (program bwrap, 0.8 or newer)",
  no_sandbox_old: "bubblewrap is too old: install version 0.8 or newer",
  no_sandbox_proc:
    "/proc/sys is read-only here ({output}): remove ProtectKernelTunables=true from the unit, or start the container with --security-opt systempaths=unconfined",
  no_sandbox_apparmor:
    "AppArmor forbids user namespaces ({output}), as on Ubuntu 24.04: allow them for bwrap with a profile (docs/operations.md has it), or for all programs with sysctl kernel.apparmor_restrict_unprivileged_userns=0",
  no_sandbox_users:
    "the kernel forbids user namespaces to ordinary users ({output}): sysctl kernel.unprivileged_userns_clone=1",
  no_sandbox_limit: "the kernel allows no user namespaces ({output}): sysctl user.max_user_namespaces=10000",
  no_sandbox_container:
    "this container does not allow namespaces ({output}): start it with --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined, or run the runner outside of a container",
  no_sandbox_other: "bwrap does not work ({output})",
  disk_full:
    "The new release takes {release}. With the {releases} of the other releases that are kept and the {data} of the project's data this is {total}, more than the {limit} that the project may have. Keep fewer releases (runner.releases), clean its data folder, or raise the limit: {setting}.",
  promoted_gone:
    "The release that is promoted is gone from this runner: deploy it again where it was tested.",
  promotion_no_sandbox:
    "A release with data or scratch folders is promoted only where scripts run in a sandbox or in containers: its links lead to the folders of the environment that built it.",
  transfer_failed: "The release or its data could not be brought here from the runner {runner}: {why}",
  transfer_unsafe: "The archive is refused: {why}.",
  transfer_unreadable: "The files could not be read: {said}",
  transfer_not_unpacked: "The archive could not be unpacked: {said}",
  transfer_damaged: "The archive arrived damaged: {why}",
  transfer_disk_full: "The disk of this runner is full: {folder} has no room for it.",
  transfer_too_large:
    "It takes more than the {limit} that the project may have on this runner: clean its data folder, or raise the limit: {setting}.",
  transfer_digest:
    "Its files are not those that were sealed with the SHA-256 {digest}: something has changed them on the runner {runner} since then, or on the way. Deploy again; what the services write to belongs to data or scratch.",
  transfer_other_folder:
    "The runner's folder is {from} there and {to} here. Programs store absolute paths in what they build: set runner.dir to the same folder on both machines, or build there.",
  transfer_not_kept: "The runner does not keep the release of task {task} any more.",
  transfer_data_in_use: "The service {service} still runs and may write to the data.",
  transfer_data_command: "A command in the release still runs and may write to the data.",
  transfer_not_needed: "No task of this runner needs it, or it was fetched too often.",
  transfer_repeated: "It was asked for again.",
  transfer_not_stopped: "The services on the earlier runner could not be stopped; its task says why.",
  transfer_part_missing:
    "A part of the archive is not on this server: several servers must share the folder transfers, or use transfers.s3.",
  transfer_stalled: "The runner {runner} has sent nothing for more than two minutes.",
  transfer_quota:
    "The server may keep only {quota} for transfers: raise transfers.quota, or wait for others to end.",
  transfer_server_full: "The disk of the server is full.",
  transfer_not_stored: "The server could not store it; its log says why.",
  runner_without_transfer: "The runner {runner}, version {version}, cannot send or get releases; update it.",
  release_gone: "No runner keeps the release any more: build it.",
  workspace_gone: "The built workspace is gone from this runner.",
  waiting: "waiting: {why}",
  wait_group_labels: "the group {group} may not use {labels}; an administrator can allow it under Groups",
  wait_no_labels: "no runner has the labels {labels}",
  wait_unlabelled:
    "every runner has labels and takes no project without labels; give the project labels, or let an administrator allow it for a runner under Runners",
  wait_bound: "every runner is bound to other groups; an administrator can change that under Runners",
  wait_bound_labels:
    "every runner with the labels {labels} is bound to other groups; an administrator can change that under Runners",
  wait_isolation:
    "the project requires a runner with isolation {isolation}, and no runner it may use has it; set runner.{setting} on a runner",
  wait_isolation_unconfirmed:
    "the project requires a runner with isolation {isolation}, which {runners} reports, but an administrator has not confirmed it; confirm it under Runners",
  wait_container:
    "a stage of the project runs in a container, and no runner it may use can run containers; install podman or docker on a runner of this version",
  wait_disabled:
    "every runner that may take it is disabled: {runners}; an administrator can enable one under Runners",
  wait_full: "every runner that may take it is busy: {runners}",
  wait_git_host: "its Git host has not sent the whole commit yet",
  wait_not_connected: "no runner is connected",
  wait_labels_not_connected: "no runner with the labels {labels} is connected",
  wait_home_deleted:
    "it was deployed on a runner that was deleted; move the project to another runner, which builds it again",
  wait_home_disabled:
    "it was deployed on the runner {runner}, which is disabled; enable it, or move the project to another runner, which builds it again",
  wait_home_unfit:
    "it was deployed on the runner {runner}, which may not or cannot take its tasks any more; change that, or move the project to another runner, which builds it again",
  wait_home_away:
    "it was deployed on the runner {runner}, which is not connected; start it, or move the project to another runner, which builds it again",
  wait_only_away: "only the runner {runner} can do it, which is not connected; start it, or cancel the task",
  wait_only_disabled: "only the runner {runner} can do it, which is disabled; enable it, or cancel the task",
  live_deploying: "Task {task} ({commit}) is being deployed.",
  live_replacing: "Task {task} ({commit}) takes the place of {previous}.",
  live_replacing_service: "Task {task} ({commit}) takes the place of the previous service.",
  live_failed: "Task {task} ({commit}) failed: nothing is known to be serving.",
  live_lost: "Task {task} ({commit}) lost its runner: nothing is known to be serving.",
  live_before: "Task {task} was live before.",
  live_service_starting: "The service {service} ({commit}) is starting.",
  live_service_restarting: "The service {service} ({commit}) ended and is being started again.",
  live_service_down: "The service {service} ({commit}) is down.",
  live_service_stopped: "The service {service} ({commit}) was stopped by a person.",
  route_waiting: "The next deploy makes this route.",
  live_runner_away: "The runner {runner} is away: whether {commit} serves is not known.",
  crash_loop: "rolled back by the server: the service {service} ended {exits} times within a minute",
  action_moved:
    "The release that serves is on another runner now, or no release serves any more. Do it again if it is still needed.",
  live_exited: "All processes of {commit} (task {task}) exited within a minute of their start.",
} as const;
