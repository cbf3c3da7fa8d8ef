import { List, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { t } from "../../text/text.ts";
import type { Host } from "./hosts.ts";

/** What to do at the Git host. */
export function HostSteps({ host, children }: { host: Host; children?: ReactNode }) {
  return (
    <div className="instructions">
      <Text size="sm" fw={600} mb={4}>
        {host.heading ?? t("webhook.hostSteps", { host: host.name })}
      </Text>
      <List type="ordered" size="sm" spacing={4}>
        {host.steps.map((step) => (
          <List.Item key={step}>{step}</List.Item>
        ))}
      </List>
      {children}
    </div>
  );
}
