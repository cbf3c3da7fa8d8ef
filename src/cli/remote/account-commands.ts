import type { Command } from "commander";
import type { Page } from "../../model/page.ts";
import { askPassword } from "../ask.ts";
import { type OutputOptions, print, type Row, table } from "../output.ts";
import { addSettings, configFrom } from "../settings-options.ts";
import {
  addRemote,
  apiRemote,
  endSignIn,
  loginPath,
  type RemoteOptions,
  segment,
  storeSignIn,
} from "./remote.ts";

/** `login`, `logout`, `user` and `token`. */
export function addAccountCommands(program: Command): void {
  addRemote(program.command("login [username]"))
    .description("sign in; the session is kept in your home folder, readable by you alone")
    .action(async (username: string | undefined, options: RemoteOptions) => {
      const api = apiRemote({ ...options, token: "" });
      const password = await askPassword("Password: ");
      const session = await api.send<{ token: string; expiresAt: string }>("POST", loginPath, {
        username: username ?? "admin",
        password,
      });
      storeSignIn({ url: api.url, token: session.token });
      const { expiresAt } = session;
      print(options, { url: api.url, expiresAt }, () => `Signed in at ${api.url} until ${expiresAt}.`);
    });

  program
    .command("logout")
    .description("end the session of `slipway login`")
    .option("--json", "print JSON")
    .action(async (options: OutputOptions) => {
      const url = await endSignIn();
      print(options, { url }, () => (url === null ? "Nobody was signed in." : `Signed out at ${url}.`));
    });

  const user = program.command("user").description("users of the console and the API");
  addRemote(user.command("list"))
    .description("who may sign in")
    .action(async (options: RemoteOptions) => {
      const users = await apiRemote(options).get<Page<Row>>("/api/users?pageSize=200");
      print(options, users, () => table(users.items, ["id", "username", "role", "disabled", "createdAt"]));
    });
  addRemote(user.command("add <username>"))
    .description("add a user; the password is asked for")
    .option("--role <role>", "admin or user", "user")
    .action(async (username: string, options: RemoteOptions & { role: string }) => {
      const password = await askPassword(`Password of ${username}: `);
      const body = { username, password, role: options.role };
      const added = await apiRemote(options).send<Row>("POST", "/api/users", body);
      print(options, added, () => `Added user ${username} with id ${added.id}.`);
    });
  addRemote(user.command("remove <id>"))
    .description("delete a user with all sessions and tokens")
    .action(async (id: string, options: RemoteOptions) => {
      await apiRemote(options).send("DELETE", `/api/users/${segment(id)}`);
      print(options, { id }, () => `Removed user ${id}.`);
    });

  addSettings(user.command("reset-password <username>"))
    .description("set a new password directly in the database, if nobody can sign in any more")
    .option("--json", "print JSON")
    .option(
      "--keep-tokens",
      "keep the user's API tokens and linked accounts; without it they are revoked and unlinked",
    )
    .action(
      async (
        username: string,
        options: Record<string, unknown> & OutputOptions & { keepTokens?: boolean },
      ) => {
        const { keepTokens = false, ...settings } = options;
        const [config, { resetPassword }] = await Promise.all([
          configFrom(settings),
          import("../../app/backup-and-keys.ts"),
        ]);
        const password = await askPassword(`New password of ${username}: `);
        const { user, endedTokens } = await resetPassword(config, username, password, keepTokens);
        print(options, { id: user.id, username, endedTokens }, () => {
          const ended = `${endedTokens} API token${endedTokens === 1 ? "" : "s"} revoked`;
          return `${username} can sign in with the new password; ${keepTokens ? "the API tokens still work" : ended}.`;
        });
      },
    );

  const token = program.command("token").description("long-lived API tokens");
  addRemote(token.command("list"))
    .description("your tokens, by name and first letters")
    .action(async (options: RemoteOptions) => {
      const path = "/api/tokens?pageSize=200";
      const tokens = await apiRemote(options).get<Page<Row & { scopes: string[] }>>(path);
      const rows: Row[] = tokens.items.map((item) => ({ ...item, scopes: item.scopes.join(",") }));
      print(options, tokens, () => table(rows, ["id", "name", "hint", "scopes", "lastUsedAt", "expiresAt"]));
    });
  addRemote(token.command("create <name>"))
    .description("make a token; it is shown once")
    .option("--scopes <list>", "comma-separated: read, write, publish, admin", "read,write")
    .action(async (name: string, options: RemoteOptions & { scopes: string }) => {
      const body = { name, scopes: options.scopes.split(",").map((scope) => scope.trim()) };
      const made = await apiRemote(options).send<{ token: string }>("POST", "/api/tokens", body);
      print(options, made, () => made.token);
    });
  addRemote(token.command("revoke <id>"))
    .description("make a token invalid at once")
    .action(async (id: string, options: RemoteOptions) => {
      await apiRemote(options).send("DELETE", `/api/tokens/${segment(id)}`);
      print(options, { id }, () => `Revoked token ${id}.`);
    });
}
