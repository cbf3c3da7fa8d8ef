import { stringify } from "yaml";
import { webhookSettings } from "../../../model/webhook-config.ts";
import { isShortened } from "../../../task/notify/target-address.ts";
import { type Fields, type ProjectState, picked, writtenSettings } from "./settings.ts";

const credentialComment =
  "# A clone credential is stored, and not whether it is a token or a key. To set it from this file, add one of:\n" +
  "# credential: { type: token, token: { from: GIT_TOKEN } }\n" +
  "# credential: { type: ssh, privateKey: { from: GIT_KEY } }\n";

/** The file that says all settings of a project. Of its secrets it has the shell variables that could give them. */
export function writeProjectFile(state: ProjectState): string {
  const { project, webhook, keys } = state;
  const { name, git, groupId, pipeline, ...settings } = writtenSettings(project);
  const environments = project.environments.map((environment) => {
    const own = state.environments.find((each) => each.name === environment.name)?.secrets ?? [];
    const prefix = `${environment.name.toUpperCase().replaceAll("-", "_")}_`;
    return { ...environment, ...filled({ secrets: writtenSecrets(own, prefix) }) };
  });
  const setKeys = Object.entries(keys).flatMap(([kind, isSet]) =>
    isSet ? [[kind, { from: kind.toUpperCase().replaceAll("-", "_") }]] : [],
  );
  const value = {
    ...{ name, git, groupId, pipeline, ...settings, environments },
    notify: project.notify.map(writtenTarget),
    ...filled({ secrets: writtenSecrets(project.secrets), keys: Object.fromEntries(setKeys) }),
    webhook: {
      ...(picked(webhook, Object.keys(webhookSettings.shape)) as Fields),
      ...(webhook.secretSet ? { secret: { from: "WEBHOOK_SECRET" } } : {}),
    },
  };
  const text = stringify(value, { lineWidth: 0 });
  return `${project.git.credentialSet ? credentialComment : ""}${text}`;
}

/** `prefix`: of the shell variables, because two environments have secrets of the same name. */
function writtenSecrets(secrets: ProjectState["project"]["secrets"], prefix = ""): Fields {
  const written = secrets.map(({ name, isScopeChosen, scope, as }) => [
    name,
    { from: `${prefix}${name}`, ...(isScopeChosen ? { scope } : {}), as },
  ]);
  return Object.fromEntries(written) as Fields;
}

function writtenTarget(target: ProjectState["project"]["notify"][number], index: number): Fields {
  const { id: _, url, secretSet, ...shown } = target;
  return {
    ...shown,
    url: isShortened(url) ? { from: `NOTIFY_URL_${index + 1}` } : url,
    ...(secretSet ? { secret: { from: `NOTIFY_SECRET_${index + 1}` } } : {}),
  };
}

function filled(fields: Record<string, Fields>): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, held]) => Object.keys(held).length > 0));
}
