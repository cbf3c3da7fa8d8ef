import { Button } from "@mantine/core";
import { useAct } from "../../act.ts";
import { answerOf, api } from "../../api.ts";
import { Panel } from "../../components/page.tsx";
import { t } from "../../text/text.ts";
import { durationText, sizeText } from "../../time-text.ts";
import { visible } from "../../visible.ts";

/** Writes a backup on the server, and says where it is. */
export function Backup() {
  const backUp = useAct(() => answerOf(api.system.backup.$post()), {
    failed: t("system.backupFailed"),
    refresh: ["system"],
  });
  return (
    <Panel
      title={t("system.backup")}
      about={t("system.backupAbout")}
      action={
        <Button variant="default" loading={backUp.isPending} onClick={() => backUp.mutate(undefined)}>
          {t("system.backupNow")}
        </Button>
      }
    >
      <output>
        {backUp.data !== undefined &&
          visible(
            t("system.backupDone", {
              file: backUp.data.file,
              size: sizeText(backUp.data.bytes),
              duration: durationText(backUp.data.seconds * 1000),
            }),
          )}
      </output>
    </Panel>
  );
}
