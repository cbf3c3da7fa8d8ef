/** Routes of a service and their requests. */
export const routes = {
  title: "Routes",
  certificate: "certificate until {until}",
  requests: "Requests of the last day",
  releaseMark: "the release {commit} began",
  errorsAfter: "Errors after this release: {share} of {count} requests",
  kind_success: "{count} successful",
  kind_redirect: "{count} redirects",
  kind_clientError: "{count} client errors (4xx)",
  kind_serverError: "{count} server errors (5xx)",
  perStep: "Requests",
  countOfDay: "{count}, per five minutes",
  errors: "Server errors",
  p95: "Response time",
  times: "median {p50}, 95 % within {p95}",
  ms: "{ms} ms",
  limitDomains: "Only some domains",
  limitOfProject:
    "Whether managers may use only these domains in routes. Not set: those of its group, or any free one if the server permits that.",
  limitOfGroup:
    "Whether managers may use only these domains in routes of the group's projects. Not set: any free one if the server permits that.",
  allowedDomains: "Allowed domains",
  allowedDomainsHint:
    "Names, or *.example.com for all below one. Those of a project and of its group count together. What a project has already stays.",
} as const;
