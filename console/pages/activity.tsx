import { useQuery } from "@tanstack/react-query";
import { useAllProjects } from "../all-projects.ts";
import { ActivityList } from "../components/activity/list.tsx";
import { PageHead } from "../components/page.tsx";
import { useLastFilters } from "../last-filters.ts";
import { meQuery } from "../session.ts";
import { t } from "../text/text.ts";

/** What happened in all projects, from the push to what serves. */
export default function Activity() {
  const { isCovered } = useAllProjects();
  const { isReady, keep } = useLastFilters("activity");
  const { data: me } = useQuery(meQuery);
  // Only admins see what was sent to a key that nobody has: it belongs to no project, and so to no channel.
  return (
    <>
      <PageHead title={t("activity.title")} about={t("activity.about")} />
      {isReady && <ActivityList isCovered={isCovered && me?.role !== "admin"} onFilter={keep} />}
    </>
  );
}
