import {
  ActionIcon,
  Button,
  Checkbox,
  Group as Row,
  Select,
  TagsInput,
  Textarea,
  TextInput,
} from "@mantine/core";
import { Icon } from "../../components/icon.tsx";
import { ForManagers } from "../../components/permission.tsx";
import type { Project } from "../../shapes.ts";
import { t } from "../../text/text.ts";

type Route = Exclude<Project["pipeline"]["start"], unknown[]>[string]["routes"][number];
type HeaderName = keyof Route["headers"];

const fresh: Route = {
  ...{ domains: [], path: "/", tls: "auto", redirect: true, headers: {}, maintenance: "" },
};
const tlsModes = ["auto", "internal", "off"] as const;
const headerNames = [
  ...["strict-transport-security", "content-security-policy", "x-frame-options", "x-content-type-options"],
  ...["referrer-policy", "permissions-policy", "cross-origin-opener-policy", "cross-origin-embedder-policy"],
  ...["cross-origin-resource-policy", "cache-control", "x-robots-tag"],
] as HeaderName[];
const small = { size: "xs", style: { flex: "1 1 140px" } } as const;
const example = "shop.example.com";

/** Where users reach a service. */
export function ServiceRoutes({
  service,
  routes,
  error,
  errorOf,
  onChange,
}: {
  service: string;
  routes: Route[];
  error: string | undefined;
  /** What the server says about a part of a route: `0.domains.1`. */
  errorOf: (part: string) => string | undefined;
  onChange: (routes: Route[]) => void;
}) {
  return (
    <div style={{ flex: "1 1 100%" }}>
      {[...routes.entries()].map(([at, route]) => (
        <RouteFields
          key={`route ${String(at)}`}
          title={`${service} ${String(at + 1)}`}
          route={route}
          errorOf={(part) => errorOf(`${at}.${part}`)}
          onChange={(change) => onChange(routes.with(at, { ...route, ...change }))}
          onRemove={() => onChange(routes.toSpliced(at, 1))}
        />
      ))}
      {error !== undefined && <div className="wrong">{error}</div>}
      <ForManagers>
        <Button mt={4} variant="subtle" size="compact-sm" onClick={() => onChange([...routes, fresh])}>
          {t("routeForm.add", { name: service })}
        </Button>
      </ForManagers>
    </div>
  );
}

function RouteFields({
  title,
  route,
  errorOf,
  onChange,
  onRemove,
}: {
  title: string;
  route: Route;
  errorOf: (part: string) => string | undefined;
  onChange: (change: Partial<Route>) => void;
  onRemove: () => void;
}) {
  const { domains, path, tls, redirect, maintenance } = route;
  const domainError = ["domains", ...domains.map((_, place) => `domains.${place}`)]
    .map(errorOf)
    .find(Boolean);
  return (
    <fieldset className="route" aria-label={t("routeForm.cardOf", { title })}>
      <Row gap={8} align="start">
        <TagsInput
          size="xs"
          style={{ flex: "2 1 220px" }}
          label={t("routeForm.domains")}
          aria-label={t("routeForm.domainsOf", { title })}
          placeholder={domains.length === 0 ? example : ""}
          splitChars={[",", " "]}
          value={domains}
          error={domainError}
          onChange={(names) => onChange({ domains: names.map((name) => name.trim().toLowerCase()) })}
        />
        <TextInput
          {...small}
          label={t("routeForm.path")}
          aria-label={t("routeForm.pathOf", { title })}
          value={path}
          error={errorOf("path")}
          onChange={(event) => onChange({ path: event.currentTarget.value })}
        />
        <Select
          {...small}
          label={t("routeForm.tls")}
          aria-label={t("routeForm.tlsOf", { title })}
          data={tlsModes.map((value) => ({ value, label: t(`routeForm.tls_${value}`) }))}
          allowDeselect={false}
          value={tls}
          onChange={(mode) => mode && onChange({ tls: mode as Route["tls"] })}
        />
        <ForManagers>
          <ActionIcon
            mt={24}
            variant="subtle"
            color="gray"
            aria-label={t("routeForm.remove", { title })}
            onClick={onRemove}
          >
            <Icon name="bin" size={16} />
          </ActionIcon>
        </ForManagers>
      </Row>
      {tls !== "off" && (
        <Checkbox
          mt={8}
          size="xs"
          label={t("routeForm.redirect")}
          aria-label={t("routeForm.redirectOf", { title })}
          checked={redirect}
          onChange={(event) => onChange({ redirect: event.currentTarget.checked })}
        />
      )}
      <details style={{ marginTop: 8 }}>
        <summary>{t("routeForm.more")}</summary>
        <Headers title={title} route={route} errorOf={errorOf} onChange={onChange} />
        <Textarea
          mt={8}
          size="xs"
          autosize
          minRows={2}
          maxRows={12}
          label={t("routeForm.maintenance")}
          aria-label={t("routeForm.maintenanceOf", { title })}
          description={t("routeForm.maintenanceHint")}
          value={maintenance}
          error={errorOf("maintenance")}
          onChange={(event) => onChange({ maintenance: event.currentTarget.value })}
        />
      </details>
    </fieldset>
  );
}

/** A header that was chosen has an empty value until it is typed; an empty one is taken away. */
function Headers({
  title,
  route: { headers },
  errorOf,
  onChange,
}: {
  title: string;
  route: Route;
  errorOf: (part: string) => string | undefined;
  onChange: (change: Partial<Route>) => void;
}) {
  const set = headerNames.filter((name) => headers[name] !== undefined);
  const without = (name: HeaderName) =>
    Object.fromEntries(Object.entries(headers).filter(([each]) => each !== name)) as Route["headers"];
  return (
    <>
      {set.map((name) => (
        <Row key={name} gap={8} mt={4} align="end">
          <TextInput
            {...small}
            label={name}
            aria-label={t("routeForm.headerOf", { header: name, title })}
            value={headers[name] ?? ""}
            error={errorOf(`headers.${name}`)}
            onChange={(event) => onChange({ headers: { ...headers, [name]: event.currentTarget.value } })}
          />
          <ForManagers>
            <ActionIcon
              variant="subtle"
              color="gray"
              aria-label={t("routeForm.removeHeader", { header: name, title })}
              onClick={() => onChange({ headers: without(name) })}
            >
              <Icon name="bin" size={16} />
            </ActionIcon>
          </ForManagers>
        </Row>
      ))}
      <ForManagers>
        <Select
          mt={8}
          size="xs"
          maw={280}
          placeholder={t("routeForm.addHeader")}
          aria-label={t("routeForm.addHeaderOf", { title })}
          data={headerNames.filter((name) => !set.includes(name))}
          value={null}
          onChange={(name) => name && onChange({ headers: { ...headers, [name]: "" } })}
        />
      </ForManagers>
    </>
  );
}
