/** Settings of earlier versions that have no meaning any more: what to write instead. */
export const removedSettings: Readonly<Record<string, string>> = {
  "push.resume.messages":
    "was removed in version 2.0: the messages kept for clients that resume are bounded by push.resume.bytes and push.resume.age alone. Remove it; to keep fewer, lower push.resume.bytes; instead of 0, set push.resume.bytes: 0",
  "runner.alsoUnlabelled":
    "was removed in version 2.0, because an administrator decides it and not the runner. Remove it, and allow it for the runner under Runners in the console (alsoUnlabelled of PATCH /api/runners/{id})",
};
