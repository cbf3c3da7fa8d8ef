import type { DeployProject, ReleaseRules } from "../reconciler/history.ts";

/** How the load uses one project. */
export interface Plan {
  name: string;
  debounceSeconds: number;
  debounceScope: "project" | "ref";
  branches: string[];
  deployBeats: number;
  /** Milliseconds between two pushes. */
  pauses: [number, number];
  /** No push while this many tasks are unfinished. */
  mostUnfinished: number;
  release: (ReleaseRules & ReleaseLoadRules) | null;
}

interface ReleaseLoadRules {
  /** Pushes are reported by no delivery. */
  isPolled: boolean;
  /** Share of commits that do not start. */
  brokenShare: number;
}

export interface LoadProject extends DeployProject {
  plan: Plan;
  hookPath: string;
}

/** Projects that build and deploy. `longBeats` is the length of a long deploy, in tenths of a second. */
export function deployPlans(longBeats: number): Plan[] {
  return [
    plan("every push", { pauses: [1_500, 4_000] }),
    plan("window", { debounceSeconds: 2, pauses: [400, 2_500] }),
    plan("window per branch", {
      debounceSeconds: 1,
      debounceScope: "ref",
      branches: ["main", "next"],
      pauses: [800, 3_000],
    }),
    plan("long deploys", { deployBeats: longBeats, pauses: [500, 3_000], mostUnfinished: 2 }),
  ];
}

const release = { isPolled: false, brokenShare: 0.25, needsApproval: false };

/** Projects with a service that each release replaces. */
export const releasePlans: Plan[] = [
  plan("stop first", {
    pauses: [2_500, 6_000],
    mostUnfinished: 2,
    release: { ...release, port: "fixed" },
  }),
  plan("polled switch", {
    pauses: [5_000, 12_000],
    release: { ...release, port: "chosen", isPolled: true },
  }),
  plan("approvals", {
    pauses: [4_000, 9_000],
    mostUnfinished: 3,
    release: { ...release, port: "fixed", needsApproval: true },
  }),
];

function plan(name: string, more: Partial<Plan>): Plan {
  return {
    name,
    debounceSeconds: 0,
    debounceScope: "project",
    branches: ["main"],
    deployBeats: 5,
    pauses: [1_000, 3_000],
    mostUnfinished: 6,
    release: null,
    ...more,
  };
}

/** Branches of one repository; each project has its own, so that other pushes do not move it. */
export function branchOf({ name }: Plan, branch: string): string {
  return `${slugOf(name)}/${branch}`;
}

export function slugOf(name: string): string {
  return name.replaceAll(" ", "-");
}
