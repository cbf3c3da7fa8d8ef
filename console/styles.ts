/** Every style sheet of the console, in the order in which later ones refine earlier ones. */
import "./font.css";
import "./mantine-styles.ts";
import "@mantine/notifications/styles.css";
import "./shell.css";
import "./style.css";
import "./parts.css";
import "./task.css";
import "./webhook.css";
import "./activity.css";
import "./home.css";
import "./log.css";
import "./service.css";
import "./settings.css";
