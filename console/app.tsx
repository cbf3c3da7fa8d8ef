import { useQuery } from "@tanstack/react-query";
import { Fragment, lazy, type ReactNode, Suspense, useEffect } from "react";
import { Link, Route, Router, Switch, useLocation, useSearch } from "wouter";
import { idOf } from "./address.ts";
import { ApiProblem, onSignedOut } from "./api.ts";
import { Boundary } from "./components/boundary.tsx";
import { LeaveQuestion } from "./components/leave-question.tsx";
import { Empty, PageHead, Problem, Rows } from "./components/page.tsx";
import { SaveBar } from "./components/save-bar.tsx";
import { Shell } from "./components/shell.tsx";
import { live } from "./live.ts";
import { askBeforeLeaving, useConsoleLocation, useConsoleSearch } from "./location.ts";
import { Overview } from "./pages/overview.tsx";
import { isSettingsSection } from "./pages/settings/sections.ts";
import { SignIn } from "./pages/sign-in.tsx";
import { isForbidden } from "./places.ts";
import { isPushTab } from "./push-tabs.ts";
import { forgetSession, meQuery } from "./session.ts";
import { rich } from "./text/rich.ts";
import { t } from "./text/text.ts";

// The overview and the sign-in are the first load; each other page comes when it is first opened.
const Projects = lazy(() => import("./pages/projects.tsx"));
const Project = lazy(() => import("./pages/project.tsx"));
const Service = lazy(() => import("./pages/service.tsx"));
const NewProject = lazy(() => import("./pages/set-up/new-project.tsx"));
const Connect = lazy(() => import("./pages/set-up/connect.tsx"));
const Tasks = lazy(() => import("./pages/tasks.tsx"));
const Task = lazy(() => import("./pages/task.tsx"));
const Deliveries = lazy(() => import("./pages/deliveries.tsx"));
const Delivery = lazy(() => import("./pages/delivery.tsx"));
const Push = lazy(() => import("./pages/push/push.tsx"));
const Users = lazy(() => import("./pages/users.tsx"));
const Groups = lazy(() => import("./pages/groups.tsx"));
const Runners = lazy(() => import("./pages/runners.tsx"));
const Tokens = lazy(() => import("./pages/tokens.tsx"));
const Audit = lazy(() => import("./pages/audit.tsx"));
const System = lazy(() => import("./pages/system/system.tsx"));
const Account = lazy(() => import("./pages/account.tsx"));

const settingsTab = "settings";
const projectTabs = ["tasks", "releases", "webhook", "deliveries", settingsTab];

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
  useEffect(() => {
    if (!isSignedIn) return;
    return live.whileShown();
  }, [isSignedIn]);
  if (me.data) {
    return (
      <Shell me={me.data}>
        <Boundary place={`${path}?${search}`}>
          <Suspense fallback={<Rows count={8} />}>
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
      <Route path="/" component={Overview} />
      <Route path="/projects" component={Projects} />
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
            <NotFound />
          )
        }
      </Route>
      <Route path="/projects/:id/:tab?">
        {({ id, tab = "tasks" }) =>
          projectTabs.includes(tab) ? (
            byId(id, (number) => <Project id={number} tab={tab} section="general" />)
          ) : (
            <NotFound />
          )
        }
      </Route>
      <Route path="/tasks" component={Tasks} />
      <Route path="/tasks/:id">{({ id }) => byId(id, (number) => <Task id={number} />)}</Route>
      <Route path="/deliveries" component={Deliveries} />
      <Route path="/deliveries/:id">{({ id }) => byId(id, (number) => <Delivery id={number} />)}</Route>
      <Route path="/push/:tab?">
        {({ tab = "overview" }) => (isPushTab(tab) ? <Push tab={tab} /> : <NotFound />)}
      </Route>
      <Route path="/users" component={Users} />
      <Route path="/groups" component={Groups} />
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
        {rich("app.adminsOnlyHint", { overview: <Link href="/">{t("app.overview")}</Link> })}
      </Empty>
    </>
  );
}

function NotFound() {
  return (
    <>
      <PageHead title={t("app.notFound")} />
      <Empty title={t("app.noSuchPage")}>
        {rich("app.noSuchPageHint", { overview: <Link href="/">{t("app.overview")}</Link> })}
      </Empty>
    </>
  );
}
