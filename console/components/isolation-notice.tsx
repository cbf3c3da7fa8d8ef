import type { ReactNode } from "react";
import { Link, useLocation } from "wouter";
import { useNotices } from "../notices.ts";
import { rich } from "../text/rich.ts";
import { t } from "../text/text.ts";
import { visible } from "../visible.ts";
import { Notice } from "./notice.tsx";
import { Rows } from "./page.tsx";

/** Pages about what runs scripts. */
const shownOn = ["/runners", "/system"];

/** Warns admins that managers of a project can read everything that a runner's user can read, above the page. */
export function IsolationNotice({ isAdmin, children }: { isAdmin: boolean; children: ReactNode }) {
  const [path] = useLocation();
  const { data, isPending } = useNotices();
  if (!isAdmin || !shownOn.includes(path)) return <>{children}</>;
  if (isPending) return <Rows shape="page" />;
  return (
    <>
      {data?.isolation?.isExposed && <Warning runners={data.isolation.notIsolated} />}
      {children}
    </>
  );
}

function Warning({ runners }: { runners: string[] }) {
  return (
    <Notice tone="needed" label={t("warning.isolationLabel")} className="page-warning">
      {rich("warning.isolation", {
        title: <b>{t("warning.isolationLabel")}</b>,
        runners: <span className="foreign">{visible(runners.join(t("words.listSeparator")))}</span>,
        manual: (
          <a href="/manual/security.html#what-manage-implies" target="_blank" rel="noopener">
            {t("warning.manual")}
          </a>
        ),
        link: <Link href="/runners">{t("warning.runners")}</Link>,
      })}
    </Notice>
  );
}
