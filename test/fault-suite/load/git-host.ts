import { serveGit } from "../../support/git-http-server.ts";

/** Serves the repositories of a folder over HTTP, and knows when it is asked for refs. */
export interface GitHost {
  url: string;
  /** Whether a poll or a checkout waits for the list of refs. */
  isAsked(): boolean;
  stop(): void;
}

/** Long enough for a fault to hit a poll that waits for the answer. */
const answerAfterMs = 150;

export function startGitHost(folder: string): GitHost {
  let asking = 0;
  const server = serveGit(folder, null, async (path) => {
    if (!path.endsWith("/info/refs")) return;
    asking++;
    await Bun.sleep(answerAfterMs);
    asking--;
  });
  return { url: server.url, isAsked: () => asking > 0, stop: () => void server.stop() };
}
