import { Button, PasswordInput, Stack, Text, TextInput, Title } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { Mark } from "../components/mark.tsx";
import { Problem } from "../components/page.tsx";
import { signIn } from "../session.ts";
import { t } from "../text/text.ts";

export function SignIn() {
  const [username, setUsername] = useState("");
  const [password, setPassword] = useState("");
  const attempt = useMutation({ mutationFn: () => signIn(username, password) });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    attempt.mutate();
  };
  return (
    <main className="sign-in">
      <title>{`${t("signIn.title")} · Slipway`}</title>
      <form onSubmit={submit} className="panel sign-in-panel">
        <Stack gap="md">
          <div className="sign-in-head">
            <Mark size={44} />
            <div>
              <Title order={1}>Slipway</Title>
              <Text size="sm" c="dimmed">
                {t("signIn.tagline")}
              </Text>
            </div>
          </div>
          <TextInput
            label={t("signIn.username")}
            autoComplete="username"
            autoFocus
            required
            value={username}
            onChange={(event) => setUsername(event.currentTarget.value)}
          />
          <PasswordInput
            label={t("signIn.password")}
            autoComplete="current-password"
            required
            value={password}
            onChange={(event) => setPassword(event.currentTarget.value)}
          />
          {attempt.isError && <Problem title={t("signIn.failed")} problem={attempt.error} />}
          <Button type="submit" loading={attempt.isPending} size="md">
            {t("signIn.submit")}
          </Button>
          <Text size="xs" c="dimmed">
            {t("signIn.firstStart")}
          </Text>
        </Stack>
      </form>
    </main>
  );
}
