/**
 * Which test runs or checks each example of the pages. `test/unit/page-claims.test.ts` fails for an example that is neither
 * here nor among the exceptions. An example is named by the second word of its fence (```` ```sh publish ````), or by its
 * language and number on the page (`sh 2`). `*` means all examples of the page, `named` all with a name.
 *
 * Blocks of the language `text` are output and diagrams: they need no claim, and may not contain commands.
 */
export const claims: Record<string, Record<string, string>> = {
  "README.md": {
    "sh 1": "test/cli/page-commands.test.ts",
    "sh 3": "test/cli/readme.test.ts",
    "json 1": "test/cli/readme.test.ts",
    "sh 4": "test/cli/readme.test.ts",
    "json 2": "test/cli/readme.test.ts",
    "sh 5": "test/cli/page-commands.test.ts",
  },
  "README.zh-CN.md": { "*": "test/unit/readme-languages.test.ts" },
  "docs/configuration.md": { "yaml 1": "test/cli/page-commands.test.ts" },
  "docs/environments.md": { "yaml 1": "test/cli/project-file.test.ts" },
  "docs/hosts/bitbucket.md": { "sh 1": "test/cli/page-commands.test.ts" },
  "docs/hosts/codeup.md": { "sh 1": "test/cli/page-commands.test.ts" },
  "docs/hosts/gitea.md": { "sh 1": "test/cli/page-commands.test.ts" },
  "docs/hosts/gitee.md": { "sh 1": "test/cli/page-commands.test.ts" },
  "docs/hosts/github.md": { "sh 1": "test/cli/page-commands.test.ts" },
  "docs/hosts/gitlab.md": { "sh 1": "test/cli/page-commands.test.ts" },
  "docs/hosts/gogs.md": { "sh 1": "test/cli/page-commands.test.ts" },
  "docs/hosts/generic.md": {
    "json 1": "test/cli/page-commands.test.ts",
    "sh 1": "test/webhook/docs.test.ts",
    "sh 2": "test/webhook/docs.test.ts",
    "sh 3": "test/webhook/docs.test.ts",
    "sh 4": "test/webhook/docs.test.ts",
  },
  "docs/side-by-side.md": { "*": "test/releases/side-by-side.test.ts" },
  "docs/sign-in.md": { "*": "test/unit/sign-in-settings.test.ts" },
  "docs/notifications.md": { "sh 1": "test/cli/page-commands.test.ts" },
  "docs/push.md": {
    "json 1": "test/push/docs.test.ts",
    "json 2": "test/push/docs.test.ts",
    codes: "test/push/docs.test.ts",
    sign: "test/push/docs.test.ts",
    "own-code": "test/push/docs.test.ts",
    gateway: "test/cli/page-commands.test.ts",
    browser: "test/push/docs.test.ts",
    client: "test/push/docs.test.ts",
    "publish-user": "test/push/docs.test.ts",
    "json 3": "test/push/docs.test.ts",
    "publish-channel": "test/push/docs.test.ts",
    "publish-once": "test/push/docs.test.ts",
    "publish-batch": "test/push/docs.test.ts",
    "publish-users": "test/push/docs.test.ts",
    online: "test/push/docs.test.ts",
    "json 4": "test/push/docs.test.ts",
    "publish-ack": "test/push/docs.test.ts",
    trace: "test/push/docs.test.ts",
    "java 1": "test/clients/page-code.test.ts",
    "with-key": "test/push/docs.test.ts",
    "jsonc 1": "test/clients/page-code.test.ts",
    receiver: "test/push/events.test.ts",
    disconnect: "test/push/docs.test.ts",
    stream: "test/push/docs.test.ts",
  },
  "docs/pipeline.md": { "*": "test/cli/pipeline-file.test.ts" },
  "docs/project-file.md": { "*": "test/cli/project-file.test.ts" },
  "docs/recipes/java.md": { named: "test/releases/recipes.test.ts" },
  "docs/recipes/node-behind-nginx.md": { named: "test/releases/recipes.test.ts" },
  "docs/recipes/node.md": { named: "test/releases/recipes.test.ts" },
  "docs/recipes/podman-pod.md": { named: "test/releases/recipes.test.ts" },
  "docs/recipes/static-site.md": { named: "test/releases/recipes.test.ts" },
  "docs/recipes/systemd-service.md": { named: "test/releases/recipes.test.ts" },
  "docs/routes.md": { "*": "test/cli/routes.test.ts" },
  "docs/services.md": { "*": "test/cli/services.test.ts", backup: "test/cli/service-data.test.ts" },
  "docs/task-reference.md": {
    "json 1": "test/cli/page-commands.test.ts",
    "json 2": "test/cli/page-commands.test.ts",
    "sh 1": "test/cli/page-commands.test.ts",
    "sh 2": "test/cli/page-commands.test.ts",
  },
  "docs/tasks.md": { "*": "test/releases/guide.test.ts" },
  "docs/telemetry.md": {
    "yaml 1": "test/cli/page-commands.test.ts",
    "yaml 2": "test/clients/page-code.test.ts",
  },
  "docs/testing.md": { "ts 1": "test/clients/page-code.test.ts" },
  "docs/upgrading.md": {
    backup: "test/upgrade/upgrading-page.test.ts",
    back: "test/upgrade/upgrading-page.test.ts",
  },
  "docs/webhook.md": {
    "json 1": "test/cli/page-commands.test.ts",
    "sh 1": "test/cli/page-commands.test.ts",
  },
  "client/README.md": {
    "ts 1": "test/clients/page-code.test.ts",
    "tsx 1": "test/clients/page-code.test.ts",
    "js 1": "test/clients/page-code.test.ts",
  },
  "examples/README.md": { "sh 1": "test/cli/page-commands.test.ts" },
  "clients/java/README.md": { "java 1": "test/clients/page-code.test.ts" },
  "clients/python/README.md": { "python 1": "test/clients/page-code.test.ts" },
};

/** Examples that no test runs, and why. */
export const exceptions: Record<string, Record<string, string>> = {
  "README.md": { "sh 2": "it is the run of the tests itself" },
  "CONTRIBUTING.md": { "sh 1": "they are runs of all tests and benchmarks, which take minutes" },
  "docs/testing.md": { "sh 1": "the fault suite runs for minutes; the tests of test/faults run its parts" },
  "docs/operations.md": {
    systemd: "it adds users and services to the machine; test/security/systemd-units.test.ts runs the units",
    compose: "it downloads images; test/unit/compose.test.ts checks the files",
    "rabbitmq-first": "it changes users of a broker; test/contract/rabbitmq.test.ts gives these permissions",
    "kafka-first":
      "the image of the tests has no shell tools; test/contract/kafka.test.ts gives these permissions, and broker-nodes.test.ts compares the topics",
  },
  "docs/upgrading.md": {
    sources: "it needs a later version; test/cli/launcher.test.ts changes the packages under bin/slipway",
    executable: "it needs a later release; test/release runs executables and checks their sums",
    systemd: "it restarts services of the machine; the steps are those of `backup` and of test/upgrade",
    compose: "it needs Docker; test/cluster/versions.test.ts restarts gateways in this order",
    kubernetes: "it needs a cluster; the tests of the chart check how its pods are replaced",
  },
  "client/README.md": { "sh 1": "it needs a registry; test/release installs the package from its file" },
  "deploy/helm/slipway/README.md": {
    install: "it needs a cluster; the tests of the chart render it with these values",
    secret: "it needs a cluster; the tests of the chart render it with an existing secret",
  },
};
