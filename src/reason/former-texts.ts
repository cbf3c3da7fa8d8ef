/** Texts of earlier versions that records still hold, with the code that they have today. */
export const formerTexts = [
  ["fork_not_allowed", "The merge request comes from a fork; the project does not allow them (allowForks)."],
  [
    "repository_warned",
    "The delivery is about {other}, not the project's repository {own}. repositoryCheck is warn.",
  ],
  [
    "repository_mismatch",
    "The delivery is about {other}, not the project's repository {own}. Correct the project's git.url, or remove the webhook from the other repository.",
  ],
  ["signature_hmac_sent", "an HMAC signature was sent where the plain secret is expected: check verifyMode"],
  [
    "signature_encoding",
    "it matches with another prefix or encoding: check signaturePrefix and signatureEncoding",
  ],
  [
    "git_url_changed",
    "The project's git.url was changed after the approval was requested, and the commit must be built again; run it again.",
  ],
  ["git_url_refused", "The project's git.url {why}."],
] as const;
