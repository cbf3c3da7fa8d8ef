import type { Runner } from "../shapes.ts";
import { reasonIn } from "../text/reason-text.ts";
import { rich } from "../text/rich.ts";
import { t } from "../text/text.ts";
import { visible } from "../visible.ts";
import { Moment } from "./moment.tsx";

/** What a runner says of its isolation and of its proxy. */
export function RunnerNotes({ runner }: { runner: Runner }) {
  return (
    <>
      <LastEnd runner={runner} />
      <IsolationNote runner={runner} />
      <ProxyNote runner={runner} />
    </>
  );
}

/** Why the server's own runner is not there. */
function LastEnd({ runner: { lastEnd } }: { runner: Runner }) {
  if (lastEnd === null) return null;
  return (
    <p className="runner-note small foreign">
      {rich("runners.ended", { when: <Moment at={lastEnd.at} />, text: visible(lastEnd.text) })}
    </p>
  );
}

/** How scripts of this runner can be isolated. */
function IsolationNote({ runner: { isolationNote, isolationNoteParts } }: { runner: Runner }) {
  if (isolationNote === "") return null;
  const why = reasonIn(isolationNote, isolationNoteParts);
  return <Note>{t("runners.whyNotIsolated", { why })}</Note>;
}

/** The proxy with which it serves routes, or how it gets one. */
function ProxyNote({ runner: { proxy, proxyNote, proxyNoteParts } }: { runner: Runner }) {
  if (proxy === null && proxyNote === "") return null;
  const note = reasonIn(proxyNote, proxyNoteParts);
  const text =
    proxy === null
      ? t("runners.noProxy", { why: note })
      : note === ""
        ? t("runners.proxy", { proxy })
        : t("runners.proxyBut", { proxy, note });
  return <Note>{text}</Note>;
}

function Note({ children }: { children: string }) {
  return (
    <p className="runner-note small">
      <bdi>{children}</bdi>
    </p>
  );
}
