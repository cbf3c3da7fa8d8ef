import type { Runner } from "../shapes.ts";
import { reasonIn } from "../text/reason-text.ts";
import { t } from "../text/text.ts";

/** What a runner says of its isolation and of its proxy. */
export function RunnerNotes({ runner }: { runner: Runner }) {
  return (
    <>
      <IsolationNote runner={runner} />
      <ProxyNote runner={runner} />
    </>
  );
}

/** How scripts of this runner can be isolated. */
function IsolationNote({ runner: { isolationNote, isolationNoteParts } }: { runner: Runner }) {
  if (isolationNote === "") return null;
  const why = reasonIn(isolationNote, isolationNoteParts);
  return <p className="runner-note small foreign">{t("runners.whyNotIsolated", { why })}</p>;
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
  return <p className="runner-note small foreign">{text}</p>;
}
