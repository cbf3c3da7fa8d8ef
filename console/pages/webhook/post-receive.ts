import { type Proof, proofLines, secretLines } from "./send-command.ts";

/**
 * The whole post-receive hook of a bare repository, ready to paste: it reports each pushed branch and tag with the changed
 * files, and proves the sender as the webhook expects it.
 */
export function postReceiveHook(url: string, proof: Proof, secret: string | null): string {
  const { before, headers } = proofLines(proof);
  const sent = ["'Content-Type: application/json'", ...headers].map((header) => `-H ${header}`).join(" ");
  const script = `#!/bin/sh
# Save it as hooks/post-receive of the bare repository and make it executable. It needs curl, jq${before.length > 0 ? " and openssl" : ""}.
HOOK_URL='${url}'
${secretLines(proof, secret)
  .map((line) => `${line}\n`)
  .join("")}while read -r old new ref; do
  message= author=$(id -un) known=false
  case "$new" in *[!0]*) message=$(git log -1 --format=%B "$new") ;; esac
  # A shared account is nobody's name: the commit has its author.
  case "$author $new" in "root "*[!0]* | "git "*[!0]*) author=$(git log -1 --format=%an "$new") ;; esac
  # Of a ref that is new or gone the changed files are unknown.
  case "$old $new" in *[!0\\ ]*\\ *[!0]*) known=true ;; esac
  case "$ref" in refs/tags/*) event=tag ;; *) event=push ;; esac
  body=$(
    if $known; then git -c core.quotePath=off diff --name-only "$old" "$new"; fi |
      jq -Rn --arg event "$event" --arg ref "$ref" --arg commit "$new" --arg message "$message" \\
        --arg author "$author" --argjson known "$known" \\
        '{$event, $ref, $commit, $message, $author, paths: (if $known then [inputs] else null end)}'
  )
${before.map((line) => `  ${line}\n`).join("")}  printf %s "$body" | curl -sS -m 10 -X POST "$HOOK_URL" ${sent} \\
    --data-binary @- || true
done
`;
  return script;
}
