import { Button, PasswordInput, Stack, Text, TextInput, Title } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { Mark } from "../components/mark.tsx";
import { Problem } from "../components/page.tsx";
import { signIn } from "../session.ts";

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
      <title>Sign in · Slipway</title>
      <form onSubmit={submit} className="panel sign-in-panel">
        <Stack gap="md">
          <div className="sign-in-head">
            <Mark size={44} />
            <div>
              <Title order={1}>Slipway</Title>
              <Text size="sm" c="dimmed">
                git push in, live deploys out
              </Text>
            </div>
          </div>
          <TextInput
            label="Username"
            autoComplete="username"
            autoFocus
            required
            value={username}
            onChange={(event) => setUsername(event.currentTarget.value)}
          />
          <PasswordInput
            label="Password"
            autoComplete="current-password"
            required
            value={password}
            onChange={(event) => setPassword(event.currentTarget.value)}
          />
          {attempt.isError && <Problem problem={attempt.error} />}
          <Button type="submit" loading={attempt.isPending} size="md">
            Sign in
          </Button>
          <Text size="xs" c="dimmed">
            The first start made the user admin and printed its password once, in the server's log.
          </Text>
        </Stack>
      </form>
    </main>
  );
}
