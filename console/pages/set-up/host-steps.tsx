import { Alert, Checkbox } from "@mantine/core";
import { t } from "../../text/text.ts";

/** Only an administrator may let a step run outside of the sandbox; others learn what to ask for. */
export function HostSteps(props: {
  stages: string;
  isAdmin: boolean;
  isOnHost: boolean;
  onChange: (isOnHost: boolean) => void;
}) {
  const { stages } = props;
  if (!props.isAdmin)
    return (
      <Alert color="gray" variant="light" role="note">
        {t("setUp.hostStepsAsk", { stages })}
      </Alert>
    );
  return (
    <Checkbox
      label={t("setUp.hostSteps", { stages })}
      description={t("setUp.hostStepsHint")}
      checked={props.isOnHost}
      onChange={(event) => props.onChange(event.currentTarget.checked)}
    />
  );
}
