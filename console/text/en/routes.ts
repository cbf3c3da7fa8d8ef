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
} as const;
