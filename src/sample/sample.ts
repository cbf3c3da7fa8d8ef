import { rmSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../clock.ts";
import { Fault } from "../errors.ts";
import { hmacOf } from "../git-host/proof/proof.ts";
import { completePipeline } from "../model/pipeline.ts";
import { deleteProject, type Project } from "../model/project.ts";
import { sealedPurpose } from "../model/sealed.ts";
import type { Store } from "../model/store.ts";
import { newReason } from "../reason/reason.ts";
import { randomToken, type Secrets } from "../secrets.ts";
import type { WebhookManagement } from "../webhook/management.ts";
import { makeSampleRepository, openSampleRepository, sampleFolderOf } from "./sample-repository.ts";

export interface MadeSample {
  project: Project;
  deliveryId: number;
  taskId: number | null;
}

export interface SamplesOptions {
  store: Store;
  management: Pick<WebhookManagement, "read" | "save" | "generateSecret">;
  secrets: Pick<Secrets, "open">;
  clock: Clock;
  samplesDir: string;
  /** Folders in which the local runner keeps clones and workspaces by project. */
  runnerDirs: string[];
  /** Where this server answers on this machine. */
  ownUrl: () => string;
  fetch: typeof fetch;
}

/** Keeps a script from filling the disk. */
const maxSamples = 20;
const deliveriesAtOnce = 500;

const pipeline = completePipeline({
  build: [
    {
      script: `echo "Building version $(cat VERSION) of $CI_REF_NAME"
printf '\\033[36m%s\\033[0m\\n' "checking pages"
for page in site/*.html; do sleep 0.4; printf '  \\033[32mok\\033[0m %s\\n' "$page"; done`,
      timeout: 60,
    },
  ],
  deploy: [
    {
      script: `cp -R site/. live
echo "Deployed commit $CI_COMMIT"`,
      timeout: 60,
    },
  ],
  start: [
    {
      script: 'echo "Live now:"; cat live/index.html',
      timeout: 60,
      check: {
        command: 'grep "<h1>" live/index.html || { echo "the page has no heading"; exit 1; }',
        within: 5,
      },
    },
  ],
  // A release can only be read; this folder survives it.
  data: ["live"],
});

/** Sample projects: a repository in the data folder, and a signed push to its webhook, as a Git host would send it. */
export function buildSamples(options: SamplesOptions) {
  const { store, management, clock, samplesDir, ownUrl } = options;

  async function send(project: Project, key: string, secret: string, commit: string, message: string) {
    const body = JSON.stringify(githubPush(project, commit, message, new Date(clock.now())));
    const signature = hmacOf(secret, Buffer.from(body)).toString("hex");
    const response = await options.fetch(`${ownUrl()}/api/hooks/git/${key}`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "x-github-event": "push",
        "x-github-delivery": crypto.randomUUID(),
        "x-hub-signature-256": `sha256=${signature}`,
      },
      body,
    });
    const answer = (await response.json()) as { deliveryId: number; taskId?: number; reason: string };
    if (response.status !== 202)
      throw new Fault("internal", `The sample's push was refused: ${answer.reason}`);
    return { deliveryId: answer.deliveryId, taskId: answer.taskId ?? null };
  }

  return {
    async create(): Promise<MadeSample> {
      const { items } = await store.projects.list({ search: "Sample " }, { page: 1, pageSize: 200 });
      if (items.filter((project) => project.sample).length >= maxSamples)
        throw new Fault("conflict", newReason("samples_full", { count: maxSamples }));
      const name = `Sample ${randomToken(3, "hex")}`;
      const folder = join(samplesDir, name.replace(" ", "-").toLowerCase());
      const repository = await makeSampleRepository(join(folder, "repository"));
      await repository.commit();
      const { commit, message } = await repository.commit();
      const project = await store.projects.create({
        name,
        git: { url: repository.path, ref: "main", submodules: false },
        pipeline,
        commitStatus: { context: `slipway/${name}`, skipped: false },
        sample: true,
        createdAt: new Date(clock.now()),
      });
      const secret = management.generateSecret();
      const rules = { branchFilter: [project.git.ref], debounceSeconds: 0 };
      const webhook = { enabled: true, provider: "github", secret, ...rules } as const;
      const { key } = await management.save(project.id, webhook, () => null);
      return { project, ...(await send(project, key ?? "", secret, commit, message)) };
    },
    /** Pushes the next version. The health check of a broken one fails, so that the release before it comes back. */
    async push(project: Project, version: { isBroken: boolean }): Promise<Omit<MadeSample, "project">> {
      const folder = sampleFolderOf(project.git.url, samplesDir);
      const { key, secret } = await management.read(project.id);
      if (folder === null || key === null || secret === null)
        throw new Fault("conflict", newReason("sample_not_pushable", { name: project.name }));
      const { commit, message } = await openSampleRepository(project.git.url).commit(version);
      const plain = options.secrets.open(sealedPurpose.webhookSecret(project.id), secret);
      return send(project, key, plain, commit, message);
    },
    /** Removes the project with its repository, deliveries, clones and workspaces. */
    async remove(project: Project): Promise<void> {
      await deleteProject(store.projects, project.id);
      while ((await store.deliveries.deleteOfProject(project.id, deliveriesAtOnce)) > 0);
      const folder = sampleFolderOf(project.git.url, samplesDir);
      const kept = options.runnerDirs.flatMap((folder) => [
        join(folder, `cache/project-${project.id}.git`),
        join(folder, `releases/${project.id}`),
        join(folder, `work/project-${project.id}`),
        join(folder, `data/${project.id}`),
        join(folder, `shared/project-${project.id}`),
        join(folder, `shared/fork-${project.id}`),
      ]);
      for (const path of [...(folder === null ? [] : [folder]), ...kept])
        rmSync(path, { recursive: true, force: true });
    },
  };
}
export type Samples = ReturnType<typeof buildSamples>;

/** A GitHub push with the fields that the payload reader uses. */
function githubPush(project: Project, commit: string, message: string, at: Date) {
  const head = {
    id: commit,
    message,
    timestamp: at.toISOString(),
    author: { name: "Sample" },
    added: [],
    removed: [],
    modified: ["VERSION", "site/index.html"],
  };
  return {
    ref: "refs/heads/main",
    before: "0".repeat(40),
    after: commit,
    deleted: false,
    pusher: { name: "sample" },
    repository: { full_name: `samples/${project.name}`, default_branch: "main" },
    commits: [head],
    head_commit: head,
  };
}
