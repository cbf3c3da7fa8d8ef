import { Button, Divider, Stack, Text, Title } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { type FormEvent, type ReactNode, useState } from "react";
import { Mark } from "../components/mark.tsx";
import { Problem } from "../components/page.tsx";
import { PasswordFields } from "../components/password-fields.tsx";
import { signIn } from "../session.ts";
import { goToProvider, type Provider, providersQuery } from "../sign-in.ts";
import { t } from "../text/text.ts";
import { visible } from "../visible.ts";

export function SignIn() {
  const providers = useQuery(providersQuery);
  const items = providers.data?.items ?? [];
  return (
    <SignInPanel>
      {items.map((provider) => (
        <ProviderButton key={provider.name} provider={provider} />
      ))}
      {items.length > 0 && (
        <Divider label={t(providers.data?.local === "admins" ? "signIn.orAsAdmin" : "signIn.orPassword")} />
      )}
      <PasswordForm />
    </SignInPanel>
  );
}

/** The frame of every step of a sign-in. */
export function SignInPanel({ children }: { children: ReactNode }) {
  return (
    <main className="sign-in">
      <title>{`${t("signIn.title")} · Slipway`}</title>
      <div className="panel sign-in-panel">
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
          {children}
        </Stack>
      </div>
    </main>
  );
}

function ProviderButton({ provider: { name, title } }: { provider: Provider }) {
  const go = useMutation({
    mutationFn: () => goToProvider(name, { returnTo: `${location.pathname}${location.search}`, link: false }),
  });
  return (
    <>
      <Button variant="default" loading={go.isPending} onClick={() => go.mutate()}>
        {visible(t("signIn.with", { title }))}
      </Button>
      {go.isError && <Problem title={t("signIn.failed")} problem={go.error} />}
    </>
  );
}

function PasswordForm() {
  const [typed, setTyped] = useState({ username: "", password: "" });
  const attempt = useMutation({ mutationFn: () => signIn(typed.username, typed.password) });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    attempt.mutate();
  };
  return (
    <form onSubmit={submit}>
      <Stack gap="md">
        <PasswordFields value={typed} set={setTyped} />
        {attempt.isError && <Problem title={t("signIn.failed")} problem={attempt.error} />}
        <Button type="submit" loading={attempt.isPending}>
          {t("signIn.submit")}
        </Button>
        <Text size="xs" c="dimmed">
          {t("signIn.firstStart")}
        </Text>
      </Stack>
    </form>
  );
}
