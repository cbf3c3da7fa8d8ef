import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "./free-port.ts";
import { findGoModule } from "./go-module.ts";
import { run } from "./service-install.ts";
import { launch, serviceFolder } from "./service-process.ts";

/** The folder with Gitea. */
export function findGitea(): Promise<string> {
  return findGoModule({
    ...{ title: "Gitea 1.23.8", module: "code.gitea.io/gitea", version: "v1.23.8" },
    program: "gitea",
    folders: ["options", "templates"],
    build: ["-tags", "sqlite sqlite_unlock_notify", "."],
    variable: "SLIPWAY_TEST_GITEA",
  });
}

export interface Gitea {
  url: string;
  /** Calls its API as this person, and returns the body; a status of 400 or more is an error. */
  as(username: string, method: string, path: string, body?: unknown): Promise<unknown>;
  /** Creates a person with the password of all, by the administrator `root`. */
  addPerson(username: string): Promise<void>;
  /** The address of a repository that git may push to as this person. */
  cloneAddress(username: string, repository: string): string;
  stop(): Promise<void>;
}

export const giteaPassword = "the password of all people in tests";

/** A Gitea on a free port with an administrator `root`. It may call every address, as its owner could allow. */
export async function startGitea(programFolder: string): Promise<Gitea> {
  const folder = serviceFolder("gitea");
  const port = freePort();
  const url = `http://127.0.0.1:${port}`;
  const settings = join(folder, "app.ini");
  writeFileSync(
    settings,
    `APP_NAME = Gitea
RUN_MODE = prod
I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true
WORK_PATH = ${folder}
[server]
PROTOCOL = http
HTTP_ADDR = 127.0.0.1
HTTP_PORT = ${port}
ROOT_URL = ${url}/
DISABLE_SSH = true
OFFLINE_MODE = true
STATIC_ROOT_PATH = ${programFolder}
LFS_START_SERVER = false
[database]
DB_TYPE = sqlite3
PATH = ${join(folder, "gitea.db")}
[repository]
ROOT = ${join(folder, "repositories")}
DEFAULT_BRANCH = main
[security]
INSTALL_LOCK = true
SECRET_KEY = ${crypto.randomUUID()}
PASSWORD_HASH_ALGO = pbkdf2
[webhook]
ALLOWED_HOST_LIST = *
[service]
DISABLE_REGISTRATION = true
[indexer]
REPO_INDEXER_ENABLED = false
[log]
MODE = console
LEVEL = warn
`,
  );
  const program = join(programFolder, "gitea");
  const env = { GITEA_WORK_DIR: folder, HOME: folder };
  const gitea = await launch({
    name: "Gitea",
    url,
    folder,
    env,
    command: [program, "web", "--config", settings],
    isReady: async () => (await fetch(`${url}/api/v1/version`, { keepalive: false })).ok,
  });
  const isMade = await run(
    [program, "--config", settings, "admin", "user", "create", "--admin", "--username", "root"].concat([
      ...["--password", giteaPassword, "--email", "root@example.com", "--must-change-password=false"],
    ]),
    { env },
  );
  if (!isMade) throw new Error("Gitea's administrator could not be created");
  const as = async (username: string, method: string, path: string, body?: unknown): Promise<unknown> => {
    const response = await fetch(`${url}/api/v1${path}`, {
      method,
      keepalive: false,
      headers: {
        authorization: `Basic ${Buffer.from(`${username}:${giteaPassword}`).toString("base64")}`,
        "content-type": "application/json",
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`Gitea: ${method} ${path} answered ${response.status}: ${text}`);
    return text === "" ? null : JSON.parse(text);
  };
  return {
    url,
    as,
    async addPerson(username) {
      const person = {
        username,
        password: giteaPassword,
        email: `${username}@example.com`,
        must_change_password: false,
      };
      await as("root", "POST", "/admin/users", person);
    },
    cloneAddress: (username, repository) =>
      `http://${username}:${encodeURIComponent(giteaPassword)}@127.0.0.1:${port}/${repository}.git`,
    stop: () => gitea.stop(),
  };
}
