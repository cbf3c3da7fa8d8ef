import { Autocomplete, Button, Checkbox, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useCallback, useRef, useState } from "react";
import { useLocation, useSearchParams } from "wouter";
import { type StageName, stageNames } from "../../../src/model/stage/stage-name.ts";
import { complain, useAct } from "../../act.ts";
import { ApiProblem, answerOf, api } from "../../api.ts";
import { GroupPicker } from "../../components/group-picker.tsx";
import { PageHead, Panel, Problem } from "../../components/page.tsx";
import { Picker } from "../../components/picker.tsx";
import { ScriptEditor } from "../../components/script-editor.tsx";
import { isHostKind } from "../../git-hosts.ts";
import { useGroups } from "../../group-query.ts";
import { meQuery } from "../../session.ts";
import { t } from "../../text/text.ts";
import { useUnsaved } from "../../unsaved.ts";
import { FirstRoute } from "./first-route.tsx";
import { originOf } from "./host-pages.ts";
import { HostSteps } from "./host-steps.tsx";
import { NewService } from "./new-service.tsx";
import {
  bestPreset,
  checksOf,
  pipelineOf,
  presetKey,
  presetTitles,
  type Scripts,
  scriptPath,
  scriptsOf,
} from "./preset-fields.ts";
import { PresetVariables } from "./preset-variables.tsx";
import type { ChosenRepository } from "./repository-chooser.tsx";
import {
  type CredentialFields,
  credentialOf,
  type Inspected,
  noCredential,
  type Preset,
  RepositoryStep,
} from "./repository-step.tsx";

interface Fields extends Scripts {
  url: string;
  name: string;
  ref: string;
  groupId: number | null;
  /** Empty: the user has not chosen yet. */
  preset: string;
  /** Whether the health check of the preset is used. */
  isChecked: boolean;
  /** Whether the stages of the preset that change the machine itself become host steps. */
  isOnHost: boolean;
}

/** Instead of a preset. */
const emptyScripts = "none";

const empty: Fields = {
  url: "",
  name: "",
  ref: "main",
  groupId: null,
  preset: emptyScripts,
  ...scriptsOf(undefined),
  isChecked: true,
  isOnHost: true,
};

/** A page that adds a project: its repository is read, and name, branch and stages are suggested. */
export default function NewProject() {
  const [, go] = useLocation();
  const [search] = useSearchParams();
  const { data: me } = useQuery(meQuery);
  const isAdmin = me?.role === "admin";
  const groups = useGroups().filter(({ permission }) => permission === "manage");
  const asked = groups.find(({ id }) => String(id) === search.get("groupId"));
  const onlyGroup = !isAdmin && groups.length === 1 ? groups[0] : undefined;
  const [fields, setFields] = useState<Fields>(empty);
  const [typed, setTyped] = useState<CredentialFields>(noCredential);
  const [checked, setChecked] = useState<CredentialFields>(noCredential);
  const [found, setFound] = useState<Inspected | null>(null);
  const [chosen, setChosen] = useState<ChosenRepository | null>(null);
  /** The other steps follow when the repository is read, or the user goes on without. */
  const [isRevealed, setRevealed] = useState(false);
  /** What the last suggestion filled in: fields that the user changed are kept. */
  const suggested = useRef<Fields>(empty);
  const groupId = fields.groupId ?? asked?.id ?? onlyGroup?.id ?? null;
  const preset = found?.presets.find((each) => presetKey(each) === fields.preset);
  const checks = preset ? checksOf(preset, fields.ports) : [];
  const hostStages = preset?.hostStages.filter((stage) => fields[stage] !== "") ?? [];

  const suggest = useCallback((inspected: Inspected) => {
    setFound(inspected);
    if (inspected.problem === "") setRevealed(true);
    const next = suggestionOf(inspected);
    const before = suggested.current;
    suggested.current = { ...before, ...next };
    setFields((now) => {
      const untouched = Object.entries(next).filter(
        ([name]) => now[name as keyof Fields] === before[name as keyof Fields],
      );
      return { ...now, ...Object.fromEntries(untouched) };
    });
  }, []);
  /** A credential is for one host. */
  const setUrl = (url: string) => {
    if (originOf(url) !== originOf(fields.url))
      for (const reset of [setTyped, setChecked]) reset(noCredential);
    set({ url });
  };
  const hookKind = typed.createsWebhook ? (found?.provider ?? null) : null;
  /** What the server last judged: an error belongs to the value that caused it. */
  const [judged, setJudged] = useState<Fields>(empty);
  const add = useAct(
    async () => {
      const project = await addProject(
        { ...fields, groupId },
        preset,
        isAdmin && fields.isOnHost ? hostStages : [],
        credentialOf(fields.url.trim(), typed),
      );
      const isChosen = chosen?.url === fields.url.trim();
      return { ...project, hasToken: isChosen || (await keepToken(hookKind, fields.url, typed.token)) };
    },
    { done: ({ name }) => t("setUp.added", { name }), refresh: ["projects", "home"] },
  );
  useUnsaved(fields.url !== "" && !add.isPending && !add.isSuccess);
  const refused = add.error instanceof ApiProblem ? add.error : null;
  const set = (change: Partial<Fields>) => setFields((before) => ({ ...before, ...change }));
  const errorOf = (name: keyof Fields, path: string) =>
    fields[name] === judged[name] ? refused?.about(path) : undefined;
  const text = (name: "url" | "name" | StageName, path: string) => ({
    value: fields[name],
    error: errorOf(name, path),
    onChange: (event: { currentTarget: { value: string } }) => set({ [name]: event.currentTarget.value }),
  });
  const choose = (name: string) => {
    const chosen = found?.presets.find((each) => presetKey(each) === name);
    set({ preset: name, ...scriptsOf(chosen), domain: fields.domain });
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    // Enter in the field of the address: its repository is read first.
    if (!isRevealed) return;
    setJudged(fields);
    // The error is shown below; the text is kept for another attempt.
    add.mutateAsync(undefined).then(
      ({ id, hasToken }) => {
        const asked = new URLSearchParams({
          ...(found?.provider ? { host: found.provider } : {}),
          ...(hasToken ? { create: "1" } : {}),
        });
        go(`/projects/${id}/set-up${asked.size === 0 ? "" : `?${asked}`}`);
      },
      () => {},
    );
  };
  const commandPaths = Object.keys(fields.services).map((name) => `pipeline.start.${name}.command`);
  const domainPaths = Object.keys(fields.services).map((name) => `pipeline.start.${name}.routes.0.domains.0`);
  const shownPaths = new Set([
    ...["git.url", "git.ref", "name", "groupId"],
    ...stageNames.map(scriptPath),
    ...commandPaths,
    ...domainPaths,
    ...Object.keys(fields.ports).map((name) => `pipeline.start.${name}.port`),
    ...Object.keys(fields.env).map((name) => `env.${name}`),
  ]);
  return (
    <>
      <PageHead title={t("setUp.title")} about={t("setUp.about")} />
      <form onSubmit={submit} className="stack">
        <RepositoryStep
          urlField={{ ...text("url", "git.url"), onChange: (event) => setUrl(event.currentTarget.value) }}
          chosen={chosen}
          onChosen={(repository) => {
            setChosen(repository);
            setUrl(repository.url);
          }}
          fields={typed}
          credential={checked}
          onCredential={(credential, isChecked) => {
            setTyped(credential);
            if (isChecked) setChecked(credential);
          }}
          onInspected={suggest}
          onSkipped={() => setRevealed(true)}
        />
        {isRevealed && (
          <>
            <Panel title={t("setUp.project")}>
              <div className="form">
                <TextInput label={t("setUp.name")} required {...text("name", "name")} />
                <Autocomplete
                  label={t("setUp.ref")}
                  required
                  data={[...new Set(found?.branches ?? [])]}
                  limit={50}
                  value={fields.ref}
                  error={errorOf("ref", "git.ref")}
                  onChange={(ref) => set({ ref })}
                />
                {(isAdmin || groups.length > 0) && (
                  <GroupPicker
                    label={t("setUp.group")}
                    description={t("setUp.groupHint")}
                    required={!isAdmin}
                    groups={groups}
                    value={groupId}
                    error={errorOf("groupId", "groupId")}
                    onChange={(chosen) => set({ groupId: chosen })}
                  />
                )}
              </div>
            </Panel>
            <Panel title={t("setUp.stages")} about={t("setUp.stagesAbout")}>
              <div className="form wide-form">
                <Picker
                  label={t("setUp.preset")}
                  required
                  placeholder={t("setUp.choosePreset")}
                  choices={[
                    ...(found?.presets ?? []).map((each) => ({
                      value: presetKey(each),
                      label: t("setUp.presetBecause", {
                        preset: presetTitles()[each.name],
                        file: each.because,
                      }),
                    })),
                    { value: emptyScripts, label: t("setUp.presetEmpty") },
                  ]}
                  value={fields.preset}
                  onChange={choose}
                />
                <PresetVariables
                  env={fields.env}
                  errorOf={(name) => errorOf("env", `env.${name}`)}
                  onChange={(name, value) => set({ env: { ...fields.env, [name]: value } })}
                />
                {stageNames
                  .filter((name) => name !== "start" || (preset?.start ?? "") !== "")
                  .map((name) => (
                    <ScriptEditor
                      key={name}
                      label={t(`stages.${name}`)}
                      description={t(`stages.${name}Hint`)}
                      minLines={2}
                      {...text(name, scriptPath(name))}
                    />
                  ))}
                {Object.entries(fields.services).map(([name, command]) => (
                  <NewService
                    key={name}
                    name={name}
                    command={command}
                    port={fields.ports[name]}
                    errorOf={(field) =>
                      errorOf(field === "port" ? "ports" : "services", `pipeline.start.${name}.${field}`)
                    }
                    onCommand={(typed) => set({ services: { ...fields.services, [name]: typed } })}
                    onPort={(typed) => set({ ports: { ...fields.ports, [name]: typed } })}
                  />
                ))}
                {found !== null && commandPaths.length > 0 && (
                  <FirstRoute
                    proxy={found.proxy}
                    value={fields.domain}
                    error={domainPaths.map((path) => errorOf("domain", path)).find(Boolean)}
                    onChange={(domain) => set({ domain })}
                  />
                )}
                {checks.length > 0 && (
                  <Checkbox
                    label={t("setUp.presetCheck", { checks: checks.join(t("words.listSeparator")) })}
                    checked={fields.isChecked}
                    onChange={(event) => set({ isChecked: event.currentTarget.checked })}
                  />
                )}
                {hostStages.length > 0 && (
                  <HostSteps
                    stages={hostStages.map((stage) => t(`stages.${stage}`)).join(t("words.listSeparator"))}
                    isAdmin={isAdmin}
                    isOnHost={fields.isOnHost}
                    onChange={(isOnHost) => set({ isOnHost })}
                  />
                )}
              </div>
            </Panel>
            {add.error !== null && !(refused?.isAbout(shownPaths) ?? false) && (
              <Problem title={t("setUp.notAdded")} problem={add.error} />
            )}
            <div>
              <Button type="submit" loading={add.isPending}>
                {t("setUp.submit")}
              </Button>
            </div>
          </>
        )}
      </form>
    </>
  );
}

/** Stores the token for the user, so that the next page can create the webhook with it. */
async function keepToken(kind: string | null, cloneUrl: string, token: string): Promise<boolean> {
  if (!isHostKind(kind) || token === "") return false;
  try {
    await answerOf(api["host-tokens"].$post({ json: { kind, url: originOf(cloneUrl), token } }));
    return true;
  } catch (problem) {
    if (problem instanceof ApiProblem) problem.title = t("setUp.tokenNotKept");
    complain(problem);
    return false;
  }
}

function suggestionOf({ name, defaultBranch, presets }: Inspected): Partial<Fields> {
  const best = bestPreset(presets);
  return {
    name,
    ref: defaultBranch ?? "main",
    preset: best ? presetKey(best) : best === null ? "" : emptyScripts,
    ...scriptsOf(best),
  };
}

async function addProject(
  { url, name, ref, groupId, isChecked, env, ...scripts }: Fields,
  preset: Preset | undefined,
  hostStages: Preset["hostStages"],
  credential: ReturnType<typeof credentialOf>,
) {
  const project = await answerOf(
    api.projects.$post({
      json: {
        name,
        groupId,
        git: { url: url.trim(), ref },
        env,
        pipeline: pipelineOf(scripts, preset, { isChecked, hostStages }),
        ...(preset ? { cache: preset.cache } : {}),
      },
    }),
  );
  if (credential)
    await answerOf(api.projects[":id"].credential.$put({ param: { id: project.id }, json: credential }));
  return project;
}
