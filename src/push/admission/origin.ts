/** Checks an Origin against `*`, `https://app.example.com`, or `https://*.example.com` for every subdomain. */
export function originCheck(allowed: readonly string[]): (origin: string) => boolean {
  if (allowed.includes("*")) return () => true;
  const exact = new Set<string>();
  const wildcards: { scheme: string; hostEnd: string }[] = [];
  for (const entry of allowed) {
    const wildcard = /^([a-z][a-z0-9+.-]*:\/\/)\*(\..+)$/i.exec(entry);
    const [, scheme, hostEnd] = wildcard ?? [];
    if (scheme && hostEnd) wildcards.push({ scheme: scheme.toLowerCase(), hostEnd: hostEnd.toLowerCase() });
    else exact.add(canonical(entry));
  }
  return (origin) => {
    const given = canonical(origin);
    return exact.has(given) || wildcards.some((entry) => isSubdomain(given, entry));
  };
}

function isSubdomain(origin: string, { scheme, hostEnd }: { scheme: string; hostEnd: string }): boolean {
  if (!origin.startsWith(scheme) || !origin.endsWith(hostEnd)) return false;
  const name = origin.slice(scheme.length, -hostEnd.length);
  return /^[a-z0-9-]+(\.[a-z0-9-]+)*$/.test(name);
}

/** Ignores case and a default port. */
function canonical(origin: string): string {
  if (!URL.canParse(origin)) return origin.toLowerCase();
  const url = new URL(origin);
  return url.origin === "null" ? origin.toLowerCase() : url.origin;
}
