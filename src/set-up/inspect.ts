import { mkdirSync } from "node:fs";
import { Fault } from "../errors.ts";
import { openRemote, RemoteError } from "../git/remote.ts";
import type { ProviderName } from "../git-host/hosts.ts";
import { recognisedHost } from "../git-host/recognise.ts";
import { type GitUrlRules, gitAccessOf, gitAddressOf, gitUrlFault } from "../model/git/git-url.ts";
import type { GitCredential } from "../model/project.ts";
import { newReason, type Reason } from "../reason/reason.ts";
import { detectHost } from "./detect-host.ts";
import type { HostClientOptions } from "./host-client.ts";
import type { Preset } from "./presets.ts";
import { filesToRead, presetsIn } from "./programs.ts";

export interface InspectedRepository {
  /** Null: neither the URL nor the host tells. */
  provider: ProviderName | null;
  name: string;
  /** Empty: the repository could be read. */
  problem: Reason;
  /** Whether another credential may help. */
  needsCredential: boolean;
  defaultBranch: string | null;
  branches: string[];
  presets: Preset[];
}

export interface InspectOptions extends HostClientOptions {
  gitUrlRules: GitUrlRules;
  /** Folder for temporary files. */
  temp: string;
  knownHosts: string;
  env: Record<string, string | undefined>;
}

export interface Inspections {
  inspect(url: string, credential: GitCredential | null): Promise<InspectedRepository>;
  close(): void;
}

/** A repository with more branches still works; the list in the console is shortened. */
const maxBranches = 500;
/** Each inspection is a git process that may wait for a slow host. */
const maxInspections = 4;

export function buildInspections(options: InspectOptions): Inspections {
  const stop = new AbortController();
  let running = 0;

  async function read(url: string, credential: GitCredential | null) {
    mkdirSync(options.temp, { recursive: true, mode: 0o700 });
    const { temp, knownHosts, env } = options;
    const remote = await openRemote({
      remote: { url, ...gitAccessOf(url, options.gitUrlRules), credential },
      ...{ temp, knownHosts, env },
      allowInternal: options.allowInternal,
      stop: stop.signal,
      beforeEach: async () => {},
    });
    try {
      const branches = await remote.branches();
      if (branches.default === null) return { ...branches, presets: [] };
      const { paths, texts } = await remote.files(`refs/heads/${branches.default}`, filesToRead);
      return { ...branches, presets: presetsIn(paths, texts, serviceNameOf(url)) };
    } finally {
      remote.close();
    }
  }

  return {
    async inspect(url, credential) {
      const fault = gitUrlFault(url, options.gitUrlRules);
      if (fault !== null)
        throw new Fault("invalid", newReason("clone_url", { fault }), {
          fields: [{ field: "url", message: fault }],
        });
      if (running >= maxInspections)
        throw new Fault("unavailable", "Other repositories are being read; try again.", {
          isShown: true,
          retryAfterSeconds: 3,
        });
      running++;
      const name = repositoryNameOf(url);
      const detected = recognisedHost(url) ?? detectHost(url, options);
      try {
        const { names, default: defaultBranch, presets } = await read(url, credential);
        const branches = names.slice(0, maxBranches);
        const provider = await detected;
        return { provider, name, problem: "", needsCredential: false, defaultBranch, branches, presets };
      } catch (error) {
        if (!(error instanceof RemoteError)) throw error;
        const needsCredential = isAboutCredential(error.message);
        const provider = await detected;
        return {
          ...{ provider, name },
          ...{ problem: error.reason, needsCredential, defaultBranch: null, branches: [], presets: [] },
        };
      } finally {
        running--;
      }
    },
    close: () => stop.abort(),
  };
}

/** Hosts answer "not found" for a private repository, and git asks for a user name that it cannot get. */
function isAboutCredential(problem: string): boolean {
  // The address may contain any of these words.
  const words = problem.replaceAll(/'[^']*'/g, "");
  return /authenti|username|password|credential|publickey|not found|error: 40[134]|access rights|denied/i.test(
    words,
  );
}

function repositoryNameOf(url: string): string {
  const path = gitAddressOf(url)?.path ?? url;
  return decoded(path.split("/").filter(Boolean).at(-1) ?? "").replace(/\.git$/, "");
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A name that containers and folders may have. */
function serviceNameOf(url: string): string {
  const name = repositoryNameOf(url)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-+|-+$/g, "");
  return name === "" ? "service" : name.slice(0, 40);
}
