import { List, Text } from "@mantine/core";
import type { ReactNode } from "react";
import type { ProviderName } from "../../../src/git-host/hosts.ts";
import { hostName } from "../../git-hosts.ts";
import { t } from "../../text/text.ts";

/** What to do at the Git host. */
export function HostSteps({ provider, children }: { provider: ProviderName; children?: ReactNode }) {
  return (
    <div className="instructions">
      <Text size="sm" fw={600} mb={4}>
        {provider === "generic"
          ? t("hosts.genericHeading")
          : t("webhook.hostSteps", { host: hostName(provider) })}
      </Text>
      <List type="ordered" size="sm" spacing={4}>
        {t(`hosts.${provider}Steps`)
          .split("\n")
          .map((step) => (
            <List.Item key={step}>{step}</List.Item>
          ))}
      </List>
      {children}
    </div>
  );
}
