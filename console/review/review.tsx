// Installs the texts before any module reads one.
import "../start-en.ts";
import "../styles.ts";
import { MantineProvider } from "@mantine/core";
import { Notifications } from "@mantine/notifications";
import { onlineManager, QueryClientProvider } from "@tanstack/react-query";
import { createRoot } from "react-dom/client";
import { queryClient } from "../api.ts";
import { cssVariables, theme } from "../theme.ts";
import { Components } from "./components.tsx";
import { answers } from "./samples/answers.ts";

const schemes = ["light", "dark"] as const;

// There is no server: what the components ask for is here already.
onlineManager.setOnline(false);
for (const [key, answer] of answers) queryClient.setQueryData(key, answer);

function Review() {
  const scheme = schemes.find((name) => location.pathname === `/${name}`);
  if (scheme === undefined)
    return (
      <div className="review-both">
        {schemes.map((name) => (
          <iframe key={name} src={`/${name}`} title={name} />
        ))}
      </div>
    );
  return (
    <QueryClientProvider client={queryClient}>
      <MantineProvider theme={theme} cssVariablesResolver={cssVariables} forceColorScheme={scheme}>
        <Notifications position="bottom-right" />
        <Components />
      </MantineProvider>
    </QueryClientProvider>
  );
}

const root = document.getElementById("root");
if (root) createRoot(root).render(<Review />);
