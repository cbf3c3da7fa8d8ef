import { PasswordInput, TextInput } from "@mantine/core";
import type { Dispatch, SetStateAction } from "react";
import { t } from "../text/text.ts";

export interface Credentials {
  username: string;
  password: string;
}

/** Username and password of a local account. A browser may fill in both at once. */
export function PasswordFields({
  value,
  set,
  isNamed = false,
}: {
  value: Credentials;
  set: Dispatch<SetStateAction<Credentials>>;
  /** The username is filled in already, so that the password gets the focus. */
  isNamed?: boolean;
}) {
  const change = (part: Partial<Credentials>) => set((before) => ({ ...before, ...part }));
  return (
    <>
      <TextInput
        label={t("signIn.username")}
        autoComplete="username"
        autoFocus={!isNamed}
        required
        value={value.username}
        onChange={({ currentTarget }) => change({ username: currentTarget.value })}
      />
      <PasswordInput
        label={t("signIn.password")}
        autoComplete="current-password"
        autoFocus={isNamed}
        required
        value={value.password}
        onChange={({ currentTarget }) => change({ password: currentTarget.value })}
      />
    </>
  );
}
