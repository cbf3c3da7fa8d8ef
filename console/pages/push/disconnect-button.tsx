import { answerOf, api } from "../../api.ts";
import { ConfirmButton } from "../../components/confirm.tsx";
import { t } from "../../text/text.ts";

export function DisconnectButton({ userId }: { userId: string }) {
  return (
    <ConfirmButton
      label={t("push.disconnect")}
      aria-label={t("push.disconnectOne", { userId })}
      size="compact-sm"
      title={t("push.disconnectTitle", { userId })}
      confirm={t("push.disconnect")}
      isDanger
      onConfirm={() => answerOf(api.push.disconnect.$post({ json: { userId } }))}
      done={t("push.disconnected", { userId })}
      failed={t("push.disconnectFailed", { userId })}
      refresh={["push-online", "push-messages"]}
    >
      {t("push.disconnectText")}
    </ConfirmButton>
  );
}
