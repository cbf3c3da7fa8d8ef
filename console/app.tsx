import { useQuery } from "@tanstack/react-query";
import { Fragment, lazy, type ReactNode, Suspense, useEffect, useLayoutEffect } from "react";
import { Link, Redirect, Route, Router, Switch, useLocation, useRoute, useSearch } from "wouter";
import { activityAddress } from "./activity-filters.ts";
import { idOf } from "./address.ts";
import { ApiProblem, onSignedOut } from "./api.ts";
import { Boundary } from "./components/boundary.tsx";
import { LeaveQuestion } from "./components/leave-question.tsx";
import { Empty, PageHead, Problem, Rows } from "./components/page.tsx";
import { SaveBar } from "./components/save-bar.tsx";
import { Shell } from "./components/shell.tsx";
import { live } from "./live.ts";
import { askBeforeLeaving, useConsoleLocation, useConsoleSearch } from "./location.ts";
import { Home } from "./pages/home.tsx";
import { isSettingsSection } from "./pages/settings/sections.ts";
import { SignIn } from "./pages/sign-in.tsx";
import { isForbidden } from "./places.ts";
import { isProjectTab, movedTo, type ProjectTab } from "./project-tabs.ts";
import { pushHref, pushTabAt } from "./push-tabs.ts";
import { forgetSession, meQuery } from "./session.ts";
import { rich } from "./text/rich.ts";
import { t } from "./text/text.ts";

// Home and the sign-in are the first load; each other page comes when it is first opened.
const SignInBack = lazy(() => import("./pages/sign-in-back.tsx"));
const Project = lazy(() => import("./pages/project.tsx"));
const Service = lazy(() => import("./pages/service.tsx"));
const NewProject = lazy(() => import("./pages/set-up/new-project.tsx"));
const Connect = lazy(() => import("./pages/set-up/connect.tsx"));
const Activity = lazy(() => import("./pages/activity.tsx"));
const Task = lazy(() => import("./pages/task.tsx"));
const Delivery = lazy(() => import("./pages/delivery.tsx"));
const Push = lazy(() => import("./pages/push/push.tsx"));
const Users = lazy(() => import("./pages/users.tsx"));
const Group = lazy(() => import("./pages/group.tsx"));
const Groups = lazy(() => import("./pages/groups.tsx"));
const Runners = lazy(() => import("./pages/runners.tsx"));
const Tokens = lazy(() => import("./pages/tokens.tsx"));
const Audit = lazy(() => import("./pages/audit.tsx"));
const System = lazy(() => import("./pages/system/system.tsx"));
const Account = lazy(() => import("./pages/account.tsx"));

const settingsTab: ProjectTab = "settings";

export function App() {
  return (
    <Router hook={useConsoleLocation} searchHook={useConsoleSearch} aroundNav={askBeforeLeaving}>
      <Console />
      <LeaveQuestion />
    </Router>
  );
}

function Console() {
  const me = useQuery(meQuery);
  const [path] = useLocation();
  const search = useSearch();
  const isSignedIn = me.data !== undefined && me.data !== null;
  useEffect(() => onSignedOut(forgetSession), []);
  const isKnown = me.data !== undefined || me.isError;
  // The frame of the first response stays until there is something in its place.
  useLayoutEffect(() => {
    if (isKnown) document.getElementById("first")?.remove();
  }, [isKnown]);
  useEffect(() => {
    if (!isSignedIn) return;
    return live.whileShown();
  }, [isSignedIn]);
  const [isBack, back] = useRoute("/sign-in/:name");
  if (isBack)
    return (
      <Suspense fallback={null}>
        <SignInBack key={back.name} name={back.name} />
      </Suspense>
    );
  if (me.data) {
    return (
      <Shell me={me.data}>
        <Boundary place={`${path}?${search}`}>
          <Suspense fallback={<Rows shape="page" />}>
            {isForbidden(path, me.data.role) ? <AdminsOnly /> : <Pages />}
          </Suspense>
          <SaveBar />
        </Boundary>
      </Shell>
    );
  }
  if (me.data === null || (me.error instanceof ApiProblem && me.error.status === 401)) return <SignIn />;
  if (me.isError)
    return (
      <main className="alone">
        <Problem title={t("words.loadFailed")} problem={me.error} onRetry={() => void me.refetch()} />
      </main>
    );
  return null;
}

function Pages() {
  return (
    <Switch>
      <Route path="/" component={Home} />
      <Route path="/projects" component={ToHome} />
      <Route path="/projects/new" component={NewProject} />
      <Route path="/projects/:id/set-up">{({ id }) => byId(id, (number) => <Connect id={number} />)}</Route>
      <Route path="/projects/:id/services/:name">
        {({ id, name }) => byId(id, (number) => <Service key={name} projectId={number} name={name} />)}
      </Route>
      <Route path="/projects/:id/settings/:section">
        {({ id, section }) =>
          isSettingsSection(section) ? (
            byId(id, (number) => <Project id={number} tab={settingsTab} section={section} />)
          ) : (
            <Moved id={id} path={`settings/${section}`} />
          )
        }
      </Route>
      <Route path="/projects/:id/tasks">{({ id }) => <ToActivity list="tasks" projectId={id} />}</Route>
      <Route path="/projects/:id/deliveries">
        {({ id }) => <ToActivity list="deliveries" projectId={id} />}
      </Route>
      <Route path="/projects/:id/:tab?">
        {({ id, tab = "overview" }) =>
          isProjectTab(tab) ? (
            byId(id, (number) => <Project id={number} tab={tab} section="source" />)
          ) : (
            <Moved id={id} path={tab} />
          )
        }
      </Route>
      <Route path="/activity" component={Activity} />
      <Route path="/tasks">
        <ToActivity list="tasks" />
      </Route>
      <Route path="/tasks/:id">{({ id }) => byId(id, (number) => <Task id={number} />)}</Route>
      <Route path="/deliveries">
        <ToActivity list="deliveries" />
      </Route>
      <Route path="/deliveries/:id">{({ id }) => byId(id, (number) => <Delivery id={number} />)}</Route>
      <Route path="/push/:tab?">{({ tab = "monitor" }) => <PushAt text={tab} />}</Route>
      <Route path="/users" component={Users} />
      <Route path="/groups" component={Groups} />
      <Route path="/groups/:id">{({ id }) => byId(id, (number) => <Group id={number} />)}</Route>
      <Route path="/runners" component={Runners} />
      <Route path="/tokens" component={Tokens} />
      <Route path="/audit" component={Audit} />
      <Route path="/system" component={System} />
      <Route path="/account" component={Account} />
      <Route>
        <NotFound />
      </Route>
    </Switch>
  );
}

/** The list of projects was a page of its own, and its dialog for a new project an address of it. */
function ToHome() {
  const search = new URLSearchParams(useSearch());
  const isNew = search.has("add");
  search.delete("add");
  const rest = search.size === 0 ? "" : `?${search}`;
  return <Redirect to={`${isNew ? "/projects/new" : "/"}${rest}`} replace />;
}

/** What a project's page has elsewhere by now. */
function Moved({ id, path }: { id: string; path: string }) {
  const search = useSearch();
  const to = movedTo(path);
  if (to === null) return <NotFound />;
  const [page, anchor] = to.split("#");
  const hash = location.hash || (anchor === undefined ? "" : `#${anchor}`);
  return <Redirect to={`/projects/${id}/${page}${search === "" ? "" : `?${search}`}${hash}`} replace />;
}

function PushAt({ text }: { text: string }) {
  const search = useSearch();
  const found = pushTabAt(text);
  if (found === null) return <NotFound />;
  return found.moved ? <Redirect to={pushHref(found.tab, search)} replace /> : <Push tab={found.tab} />;
}

/** Tasks and deliveries were lists of their own. */
function ToActivity({ list, projectId = null }: { list: "tasks" | "deliveries"; projectId?: string | null }) {
  return <Redirect to={activityAddress(list, projectId, useSearch())} replace />;
}

/** The page of one resource, or "Not found" if the id in the address is invalid. */
function byId(text: string, page: (id: number) => ReactNode): ReactNode {
  const id = idOf(text);
  return id === null ? <NotFound /> : <Fragment key={id}>{page(id)}</Fragment>;
}

/** Admin pages are not in the navigation of other users, but a link may lead to one. */
function AdminsOnly() {
  return (
    <>
      <PageHead title={t("app.adminsOnly")} />
      <Empty title={t("app.adminsOnlyTitle")}>
        {rich("app.adminsOnlyHint", { home: <Link href="/">{t("app.home")}</Link> })}
      </Empty>
    </>
  );
}

function NotFound() {
  return (
    <>
      <PageHead title={t("app.notFound")} />
      <Empty title={t("app.noSuchPage")}>
        {rich("app.noSuchPageHint", { home: <Link href="/">{t("app.home")}</Link> })}
      </Empty>
    </>
  );
}
