/** Files of `slipway project apply` that say every field, with another value than its default. */
const settings = (groupId: number) => `
groupId: ${groupId}
env: { MODE: fast, PORT: "3000" }
commitStatus: { context: ci/shop, skipped: true }
labels: [gpu, linux]
supersede: queued
rollback: "off"
image: node:22
isolation: sandbox
cache: ["~/.npm", node_modules]
limits: { memoryMb: 512, cpus: 1.5, processes: 100, nice: 5, diskMb: 2000 }
deploy: { approval: required, branches: [main], notByPusher: true, expiresAfterMinutes: 60 }
publicUrl: https://www.example.com
defaultNotify: false
allowedDomains: ["*.example.com"]
rollbackWithin: 20
environments:
  - name: staging
    refs: [main, refs/tags/v*]
    env: { PLACE: staging }
    labels: [gpu]
    domains: { shop.example.com: staging-shop.example.com }
    limits: { web: { memoryMb: 128, cpus: 0.5, processes: 50 } }
    deploy: { approval: required, branches: [main], notByPusher: true, expiresAfterMinutes: 30 }
    publicUrl: https://staging.example.com
  - { name: production, from: staging }
git: { url: https://git.example.com/shop.git, ref: live, submodules: true, lfs: true }
notify:
  - format: slack
    url: { from: NOTIFY_URL_1 }
    events: [task.failed, runner.gone]
    logLines: 20
  - { format: dingtalk, url: { from: NOTIFY_URL_2 }, secret: { from: NOTIFY_SECRET_2 } }
  - { format: push, url: "channel:news" }
secrets:
  DEPLOY_TOKEN: { from: DEPLOY_TOKEN, scope: deploy, as: file }
  OTHER: { from: OTHER }
credential: { type: token, username: robot, token: { from: GIT_TOKEN } }
keys: { notify-key: { from: NOTIFY_KEY }, status-token: { from: STATUS_TOKEN } }
webhook:
  enabled: true
  provider: github
  secretHeader: X-Shop-Token
  secretQuery: key
  verifyMode: hmac
  signaturePrefix: sha256=
  signatureEncoding: base64
  events: [push, tag]
  branchFilter: [main, "release/**"]
  tagFilter: [v*]
  pathFilter: [src/**]
  refSource: project
  actions: { build: true, deploy: false, start: false, fromStage: null }
  mergeRequestActions: { build: true, deploy: true, start: false, fromStage: deploy }
  queuePolicy: skip
  debounceSeconds: 30
  skipCiKeyword: "[no ci]"
  moreSkipKeywords: ["[wip]"]
  debounceScope: ref
  allowForks: true
  repositoryCheck: enforce
  secret: { from: WEBHOOK_SECRET }
`;

const pipeline = `
pipeline:
  from: project
  build:
    - name: test
      script: |
        npm ci
        npm test
      timeout: 600
      directory: shop
      image: node:22
      network: none
    - script: npm run build
  deploy:
    - script: ./migrate.sh
      host: true
      check: { tcp: "db:5432", within: 5m }
      onRollback: true
      once: true
      pause: true
  start:
    web:
      command: node dist/server.js
      background: true
      directory: shop
      env: { MODE: fast }
      port: 3000
      check: { http: /healthz, expect: ok, within: 30s }
      restart: on-failure
      limits: { memoryMb: 256, cpus: 0.5, processes: 40 }
      drain: 1m
      stopGrace: 20
      image: node:22-slim
      network: none
      routes:
        - domains: [shop.example.com]
          path: /api
          tls: internal
          redirect: false
          headers: { x-frame-options: DENY }
          maintenance: <p>Back soon.</p>
    beside:
      command: node dist/beside.js
      switch: ./switch.sh
      switchOnHost: true
      check: { command: "true" }
    worker: { command: node dist/worker.js, port: none, check: { tcp: "127.0.0.1:9000" } }
  data: [uploads]
  scratch: [.next/cache]
  sealed: false
`;

const repositoryPipeline = `
pipeline:
  from: repository
  path: ci/pipeline.yaml
  ports: { web: 3000 }
  withoutNetwork: [build/test]
`;

export const wholeProject = {
  files: (groupId: number) => [
    `name: whole${settings(groupId)}${pipeline}`,
    `name: by its file${settings(groupId)}${repositoryPipeline}`,
  ],
  /** What the shell has for its secrets. */
  variables: {
    NOTIFY_URL_1: "https://hooks.slack.com/services/T000/B000/first",
    NOTIFY_URL_2: "https://oapi.dingtalk.com/robot/send?access_token=second",
    NOTIFY_SECRET_2: "value of the robot",
    DEPLOY_TOKEN: "value of deploy",
    OTHER: "value of other",
    GIT_TOKEN: "value of git",
    NOTIFY_KEY: "value of notify",
    STATUS_TOKEN: "value of status",
    WEBHOOK_SECRET: "value of webhook",
  },
};
