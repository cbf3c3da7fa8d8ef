import type { Project } from "../../shapes.ts";
import { ago } from "./tasks.ts";

type Step = Project["pipeline"]["build"][number];

function stepOf(name: string, script: string): Step {
  return {
    ...{ name, script, timeout: null, directory: "", image: "", network: "bridge", host: false },
    ...{ check: null, onRollback: false, once: false, pause: false },
  };
}

const environment = {
  refs: [],
  from: null,
  env: {},
  labels: null,
  domains: {},
  limits: {},
  deploy: null,
  publicUrl: "",
};

export const project: Project = {
  id: 1,
  name: "shop",
  groupId: null,
  pipeline: {
    build: [stepOf("build", "npm ci\nnpm run build")],
    deploy: [stepOf("deploy", "./copy.sh")],
    start: [stepOf("start", "./start.sh")],
    data: [],
    scratch: [],
    sealed: true,
  },
  env: { NODE_ENV: "production" },
  notify: [],
  commitStatus: { context: "slipway/shop", skipped: false },
  labels: [],
  supersede: "none",
  rollback: "automatic",
  image: "",
  isolation: "none",
  cache: [],
  limits: { memoryMb: null, cpus: null, processes: null, nice: 0, diskMb: null },
  deploy: { approval: "none", branches: [], notByPusher: false, expiresAfterMinutes: 4320 },
  publicUrl: "https://shop.example",
  defaultNotify: true,
  allowedDomains: null,
  rollbackWithin: 10,
  environments: [
    { ...environment, name: "staging", refs: ["main"] },
    { ...environment, name: "production", from: "staging" },
  ],
  liveTaskId: 29,
  liveNote: "",
  liveNoteParts: [],
  homeRunnerId: 1,
  sample: false,
  createdAt: ago(100_000),
  fileRead: null,
  parentId: null,
  environment: null,
  pipelineFile: null,
  git: {
    url: "https://git.example/shop.git",
    ref: "main",
    submodules: false,
    lfs: false,
    credentialSet: false,
  },
  stages: {
    build: { script: "npm ci\nnpm run build", timeout: null },
    deploy: { script: "./copy.sh", timeout: null },
    start: {
      ...{ script: "./start.sh", timeout: null, healthCheck: null, previous: "stop-first" },
      ...{ settleSeconds: 5, log: "", switch: "" },
    },
  },
  secretNames: ["DEPLOY_KEY"],
  secrets: [{ name: "DEPLOY_KEY", scope: "all", isScopeChosen: false, as: "variable" }],
  disk: null,
  services: { total: 7, serving: 1, state: "down" },
  warnings: [],
  warningParts: [],
  permission: "manage",
  revision: "1",
};
