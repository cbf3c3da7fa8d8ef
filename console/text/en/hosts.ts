/** Steps for the webhook form of each Git host, one line per step. */
export const hosts = {
  genericName: "Other: anything that sends JSON",
  genericHeading: "In your script, or in the post-receive hook of a bare repository",
  githubSteps:
    "Open the repository, then Settings → Webhooks → Add webhook.\nPayload URL: the address above. Content type: application/json.\nSecret: the secret from this page.\nEvents: “Just the push event”, or select pushes, branch or tag creation, and pull requests.\nAdd webhook. GitHub sends a ping immediately; it appears on this page.",
  githubProof: "HMAC-SHA256 of the body in X-Hub-Signature-256",
  gitlabSteps:
    "Open the project, then Settings → Webhooks → Add new webhook.\nURL: the address above. Signing token: the secret from this page (whsec_…). If the form has no such field: Secret token.\nTrigger: Push events; also Tag push events and Merge request events if you allow them here.\nAdd webhook, then Test → Push events. The delivery appears on this page.",
  gitlabProof: "a signature in webhook-signature, or the secret in X-Gitlab-Token",
  giteeSteps:
    "Open the repository, then 管理 (Manage) → WebHooks → 添加 (Add).\nURL: the address above.\nPassword: the secret from this page. The signing key mode works too, with the same secret.\nSelect Push, and Tag Push or Pull Request if you allow them here. Save, then 测试 (Test).",
  giteeProof: "the secret, or its HMAC, in X-Gitee-Token",
  codeupName: "Alibaba Codeup",
  codeupSteps:
    "Open the repository, then 设置 (Settings) → Webhooks → 新建 (New).\nURL: the address above. Secret Token: the secret from this page.\nSelect push events, and tags or merge requests if you allow them here. Save, then test.",
  codeupProof: "the secret in X-Codeup-Token",
  giteaSteps:
    "Open the repository, then Settings → Webhooks → Add webhook → Gitea (or Forgejo).\nTarget URL: the address above. Method POST, content type application/json.\nSecret: the secret from this page.\nTrigger on push events, or select events. Add the webhook, open it and press Test delivery.",
  giteaProof: "HMAC-SHA256 of the body in X-Gitea-Signature or X-Forgejo-Signature",
  gogsSteps:
    "Open the repository, then Settings → Webhooks → Add a new webhook → Gogs.\nPayload URL: the address above. Content type: application/json.\nSecret: the secret from this page. Add the webhook, open it and press Test delivery.",
  gogsProof: "HMAC-SHA256 of the body in X-Gogs-Signature",
  bitbucketSteps:
    "Open the repository, then Repository settings → Webhooks → Add webhook.\nURL: the address above. Secret: the secret from this page.\nTriggers: Repository push; also Pull request created, updated and merged if you allow them here. Save.\nData Center: Create webhook instead; Push, and Pull request opened, source branch updated, merged. Test connection.",
  bitbucketProof: "HMAC-SHA256 of the body in X-Hub-Signature",
  genericSteps:
    "Send a POST request to the address above with content type application/json.\nBody: event (push, tag or merge_request), ref, and, if known, refType, commit, message, author, paths.\nProve the sender with the secret from this page, as the command below does.",
  genericProof: "the way that you select below",
  hostaName: "Host A",
  hostaSteps:
    "Open the webhook form of the repository.\nURL: the address above, JSON body. Secret: the secret from this page.\nThe event arrives in X-HostA-Event: push, create or pull_request.",
  hostaProof: "HMAC-SHA256 of the body in X-Hub-Signature-256",
  hostbName: "Host B",
  hostbSteps:
    "Open the webhook form of the repository.\nURL: the address above, JSON body. Secret token: the secret from this page.\nThe event arrives in X-HostB-Event: Push Hook, Tag Push Hook or Merge Request Hook.",
  hostbProof: "the secret in X-HostB-Token",
  hostcName: "Host C",
  hostcSteps:
    "Open the webhook form of the repository.\nURL: the address above, JSON body. Secret token: the secret from this page.\nThe event arrives in X-HostC-Event.",
  hostcProof: "the secret in X-HostC-Token",
  hostdName: "Host D",
  hostdSteps:
    "Open the webhook form of the repository.\nURL: the address above, JSON body. Secret token: the secret from this page.\nThe event arrives in HostD-Event.",
  hostdProof: "the secret in X-HostD-Token",
} as const;
