import "@mantine/core/styles.css";
import "@mantine/notifications/styles.css";
import "uplot/dist/uPlot.min.css";
import "./shell.css";
import "./style.css";
import "./parts.css";
import "./task.css";
import "./webhook.css";
import "./overview.css";
import "./log.css";
import "./service.css";
import "./settings.css";
import { MantineProvider } from "@mantine/core";
import { Notifications } from "@mantine/notifications";
import { QueryClientProvider } from "@tanstack/react-query";
import { createRoot } from "react-dom/client";
import { queryClient } from "./api.ts";
import { App } from "./app.tsx";
import { keepEnterFromSending } from "./enter-key.ts";
import { cssVariables, theme } from "./theme.ts";

keepEnterFromSending();

const root = document.getElementById("root");
if (root)
  createRoot(root).render(
    <QueryClientProvider client={queryClient}>
      <MantineProvider theme={theme} cssVariablesResolver={cssVariables} defaultColorScheme="auto">
        <Notifications position="bottom-right" limit={4} />
        <App />
      </MantineProvider>
    </QueryClientProvider>,
  );
