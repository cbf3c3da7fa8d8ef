import type { ReactNode } from "react";
import type { Service } from "../shapes.ts";
import { rich } from "../text/rich.ts";
import { t } from "../text/text.ts";
import { visible } from "../visible.ts";
import { Moment } from "./moment.tsx";

/** Why a service is in its state, in words; null: it serves, and nothing happened to it. */
export function serviceWhy({ state, since, runner, fault, lastExit, restarts }: Service): ReactNode {
  const exit = lastExit === null ? t("services.exitUnknown") : visible(lastExit);
  switch (state) {
    case "serving":
      return restarts === 0 ? null : t("services.why_restarted", { count: restarts, exit });
    case "unhealthy":
      return t("services.why_unhealthy", { fault: visible(fault) });
    case "unknown":
      if (runner.name === "") return t("services.why_deleted");
      return since === null
        ? t("services.why_unreported", { runner: visible(runner.name) })
        : rich("services.why_away", { runner: visible(runner.name), since: <Moment at={since} /> });
    case "starting":
      return fault === "" ? t("services.why_starting") : `${t("services.why_starting")} ${visible(fault)}`;
    case "stopped":
      return t("services.why_stopped");
    default:
      return t(`services.why_${state}`, { exit });
  }
}
