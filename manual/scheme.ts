// Runs before the first paint. Follows the scheme that was chosen in the console, or else the system.
const chosen = localStorage.getItem("mantine-color-scheme-value");
if (chosen === "dark" || chosen === "light") document.documentElement.dataset.scheme = chosen;
