import type { QueryKey } from "@tanstack/react-query";
import { environmentsQuery } from "../../environment-query.ts";
import { type Me, meQuery } from "../../session.ts";
import { environments, routes, services } from "./services.ts";
import { ago, waitingTask } from "./tasks.ts";

const me: Me = {
  id: 1,
  username: "admin",
  role: "admin",
  disabled: false,
  createdAt: ago(100_000),
  revision: "1",
  language: null,
  scopes: null,
  sessionId: 1,
};

/** What components ask the server for, by the keys of their queries. */
export const answers: [QueryKey, unknown][] = [
  [meQuery.queryKey, me],
  [["services", 1], { services, state: "down" }],
  [environmentsQuery(1).queryKey, { items: environments }],
  [["routes", 1], { routes }],
  [
    ["task", waitingTask.id, "changes"],
    {
      serving: { taskId: 20, commit: waitingTask.commit, message: "Open the shop", ref: "refs/heads/main" },
      commits: [],
      settings: [],
      compare: null,
      goesBack: false,
    },
  ],
];
