import { serveGit } from "../../support/git-http-server.ts";
import { Link } from "../setups/link.ts";
import { timePasses } from "../setups/part.ts";

/** Serves the repositories of a folder over HTTP, and knows when it is asked for refs. */
export interface GitHost {
  /** Its address through the link. */
  url: string;
  link: Link;
  /** Whether a poll or a checkout waits for the list of refs. */
  isAsked(): boolean;
  stop(): void;
}

/** Long enough for a fault to hit a poll that waits for the answer. */
const answerAfterMs = 150;

export async function startGitHost(folder: string): Promise<GitHost> {
  let asking = 0;
  const server = serveGit(folder, null, async (path) => {
    if (!path.endsWith("/info/refs")) return;
    asking++;
    await timePasses(answerAfterMs);
    asking--;
  });
  const link = await Link.open("servers and runners → Git host", Number(new URL(server.url).port));
  return {
    url: link.url,
    link,
    isAsked: () => asking > 0,
    stop() {
      link.close();
      void server.stop();
    },
  };
}
