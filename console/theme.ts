import { type CSSVariablesResolver, createTheme, type MantineColorsTuple } from "@mantine/core";
import { t } from "./text/text.ts";

/** Harbour water, from mist to the deep. */
const tide: MantineColorsTuple = [
  "#eaf6f6",
  "#d3eaeb",
  "#a5d5d7",
  "#74bec3",
  "#4cabb2",
  "#2f97a0",
  "#167c87",
  "#0f6671",
  "#0c5260",
  "#0b3b4a",
];

/** The lamp at the end of the slip: what needs an eye. */
const lamp: MantineColorsTuple = [
  "#fff6e6",
  "#fdebcb",
  "#f9d698",
  "#f5c062",
  "#f2b35d",
  "#e99b2d",
  "#c67a10",
  "#9c5e08",
  "#7a4906",
  "#5c3604",
];

const dark: MantineColorsTuple = [
  "#dfe8e9",
  "#b9c7c9",
  "#94a5a8",
  "#6d8084",
  "#3a4a4f",
  "#2a383d",
  "#1b262a",
  "#141d20",
  "#0f1719",
  "#0a1012",
];

const gray: MantineColorsTuple = [
  "#f7f8f6",
  "#eff1ee",
  "#e4e7e3",
  "#d3d8d3",
  "#bcc4be",
  "#9aa59f",
  "#6a7672",
  "#4d5956",
  "#333d3b",
  "#1d2524",
];

export const theme = createTheme({
  colors: { tide, lamp, dark, gray },
  primaryColor: "tide",
  primaryShade: { light: 7, dark: 6 },
  black: "#16211f",
  fontFamily: 'inter, ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif',
  fontFamilyMonospace:
    'ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace',
  headings: {
    fontWeight: "620",
    sizes: {
      h1: { fontSize: "1.5rem", lineHeight: "1.25" },
      h2: { fontSize: "1.0625rem", lineHeight: "1.35" },
      h3: { fontSize: "0.9375rem", lineHeight: "1.4" },
    },
  },
  defaultRadius: "md",
  radius: { xs: "3px", sm: "5px", md: "7px", lg: "12px", xl: "18px" },
  cursorType: "pointer",
  respectReducedMotion: true,
  components: {
    Button: { defaultProps: { size: "sm" } },
    PasswordInput: {
      defaultProps: { visibilityToggleButtonProps: { "aria-label": t("words.showPassword"), tabIndex: 0 } },
    },
    Modal: {
      defaultProps: { centered: true, radius: "lg", closeButtonProps: { "aria-label": t("words.close") } },
    },
    Drawer: { defaultProps: { closeButtonProps: { "aria-label": t("words.close") } } },
    Tooltip: { defaultProps: { openDelay: 300, events: { hover: true, focus: true, touch: true } } },
    Table: { defaultProps: { verticalSpacing: 8, horizontalSpacing: "sm", fz: "sm" } },
  },
});

/** Surfaces and lines of our own, in both schemes; text colours keep a contrast of 4.5 on each surface. */
export const cssVariables: CSSVariablesResolver = () => ({
  variables: {
    "--mono": theme.fontFamilyMonospace ?? "monospace",
  },
  light: {
    "--mantine-color-body": "#f7f8f6",
    "--mantine-color-dimmed": "#5a6663",
    "--mantine-color-placeholder": "#6a7672",
    "--mantine-color-anchor": "#0f6671",
    "--mantine-color-error": "#b3261e",
    "--here": "#e3f1f1",
    "--here-text": "#0b3b4a",
    "--surface": "#ffffff",
    "--surface-sunken": "#f1f3f0",
    "--line": "#e1e5e0",
    "--line-strong": "#c9d0ca",
    "--state-success": "#177245",
    "--state-failed": "#b3261e",
    "--state-running": "#0f6671",
    "--state-waiting": "#5a6663",
    "--state-warning": "#8a5206",
    "--state-lost": "#7b3fa0",
  },
  dark: {
    "--mantine-color-body": "#0f1719",
    "--mantine-color-dimmed": "#9db0b3",
    "--mantine-color-placeholder": "#8497a0",
    "--mantine-color-anchor": "#74bec3",
    "--mantine-color-error": "#ff8a80",
    "--here": "#16303a",
    "--here-text": "#d3eaeb",
    "--surface": "#141d20",
    "--surface-sunken": "#0c1315",
    "--line": "#243136",
    "--line-strong": "#3a4a4f",
    "--state-success": "#55c78a",
    "--state-failed": "#ff8a80",
    "--state-running": "#5cc4ce",
    "--state-waiting": "#9db0b3",
    "--state-warning": "#f2b35d",
    "--state-lost": "#cf9cf0",
  },
});
