/** What a project serves, at the top of its page. */
export const service = {
  title: "Service",
  serving: "Serving",
  deploying: "Being replaced",
  unknown: "Unknown",
  never: "Nothing serves yet",
  neverHint: "The project deploys {ref}.",
  address: "Address",
  addAddress: "Add its public address",
  visit: "Visit",
  visitHint: "Open {url} in a new tab",
  since: "Serving since",
  byTask: "{when}, {task}",
  lastDeploy: "Last deploy",
  notes: { one: "{count} note about this project", other: "{count} notes about this project" },
} as const;
