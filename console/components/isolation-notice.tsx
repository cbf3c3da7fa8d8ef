import { Alert } from "@mantine/core";
import { useState } from "react";
import { Link, useLocation } from "wouter";
import { useNotices } from "../notices.ts";
import { rich } from "../text/rich.ts";
import { t } from "../text/text.ts";
import { visible } from "../visible.ts";

const hiddenKey = "slipway.isolation-hidden";
/** Pages about runners always have the whole text. */
const wholeOn = ["/runners", "/system"];

/**
 * Warns admins that managers of a project can read everything that a runner's user can read. In one line, which a browser
 * can hide until other runners are concerned.
 */
export function IsolationNotice() {
  const [path] = useLocation();
  const [hidden, setHidden] = useState(() => localStorage.getItem(hiddenKey));
  const data = useNotices()?.isolation;
  if (!data?.isExposed) return null;
  const named = data.notIsolated.join(t("words.listSeparator"));
  const isWhole = wholeOn.includes(path);
  if (!isWhole && hidden === named) return null;
  const hide = () => {
    localStorage.setItem(hiddenKey, named);
    setHidden(named);
  };
  return (
    <Alert
      color="lamp"
      variant="light"
      role="note"
      aria-label={t("warning.isolationLabel")}
      className="page-warning"
      {...(isWhole ? {} : { withCloseButton: true, closeButtonLabel: t("warning.hide"), onClose: hide })}
    >
      {rich(isWhole ? "warning.isolation" : "warning.isolationShort", {
        title: <b>{t("warning.isolationLabel")}</b>,
        runners: <span className="foreign">{visible(named)}</span>,
        manual: (
          <a href="/manual/security.html#what-manage-implies" target="_blank" rel="noopener">
            {t("warning.manual")}
          </a>
        ),
        link: <Link href="/runners">{t(isWhole ? "warning.runners" : "warning.meaning")}</Link>,
      })}
    </Alert>
  );
}
