// Runs before the first paint, so that a dark page never flashes white. A file of its own: inline scripts are forbidden
// by the content security policy.
const chosen = localStorage.getItem("mantine-color-scheme-value");
const isDark =
  chosen === "dark" || (chosen !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
document.documentElement.dataset.mantineColorScheme = isDark ? "dark" : "light";
