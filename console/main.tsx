import "./styles.ts";
import { MantineProvider } from "@mantine/core";
import { Notifications } from "@mantine/notifications";
import { QueryClientProvider } from "@tanstack/react-query";
import { createRoot } from "react-dom/client";
import { queryClient } from "./api.ts";
import { App } from "./app.tsx";
import { keepEnterFromSending } from "./enter-key.ts";
import { sayFaultsAtFields } from "./field-faults.ts";
import { cssVariables, theme } from "./theme.ts";

keepEnterFromSending();
sayFaultsAtFields();

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
