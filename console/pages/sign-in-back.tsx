import { Button, Stack, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useEffect, useState } from "react";
import { useLocation } from "wouter";
import { Problem, Rows } from "../components/page.tsx";
import { PasswordFields } from "../components/password-fields.tsx";
import { type Entered, finishSignIn, linkAccount, startSession } from "../sign-in.ts";
import { t } from "../text/text.ts";
import { visible } from "../visible.ts";
import { SignInPanel } from "./sign-in.tsx";

/** Where a provider sends the browser back to. */
export default function SignInBack({ name }: { name: string }) {
  const [, go] = useLocation();
  const [query] = useState(() => location.search.slice(1));
  // Not a query of the cache: a request that finds nobody signed in empties it.
  const [answer, setAnswer] = useState<{ entered: Entered } | { problem: unknown } | null>(null);
  useEffect(() => {
    finishSignIn(name, query).then(
      (entered) => setAnswer({ entered }),
      (problem: unknown) => setAnswer({ problem }),
    );
  }, [name, query]);
  const entered = answer && "entered" in answer ? answer.entered : null;
  // The address has the code of the provider, which the history should not keep.
  useEffect(() => history.replaceState(history.state, "", location.pathname), []);
  useEffect(() => {
    if (entered?.user) enter(entered, go);
  }, [entered, go]);
  if (answer && "problem" in answer)
    return (
      <SignInPanel>
        <Problem title={t("signIn.failed")} problem={answer.problem} />
        <Button component="a" href="/" variant="default">
          {t("signIn.again")}
        </Button>
      </SignInPanel>
    );
  if (entered && entered.user === null)
    return (
      <SignInPanel>
        <LinkForm entered={entered} onLinked={(linked) => enter(linked, go)} />
      </SignInPanel>
    );
  return (
    <SignInPanel>
      <Rows count={2} />
    </SignInPanel>
  );
}

function enter({ returnTo }: Entered, go: (place: string, options: { replace: true }) => void): void {
  // A page of a sign-in is no place to return to.
  go(returnTo.startsWith("/sign-in/") ? "/" : returnTo, { replace: true });
  void startSession();
}

/** Asks once for the password of the user that the account is linked to. */
function LinkForm({ entered, onLinked }: { entered: Entered; onLinked: (entered: Entered) => void }) {
  const login = entered.login ?? "";
  const [typed, setTyped] = useState({ username: login, password: "" });
  const attempt = useMutation({
    mutationFn: () => linkAccount(typed.username, typed.password),
    onSuccess: onLinked,
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    attempt.mutate();
  };
  return (
    <form onSubmit={submit}>
      <Stack gap="md">
        <Text>{visible(t("signIn.linkHint", { login, title: entered.title ?? "" }))}</Text>
        <PasswordFields value={typed} set={setTyped} isNamed />
        {attempt.isError && <Problem title={t("signIn.linkFailed")} problem={attempt.error} />}
        <Button type="submit" loading={attempt.isPending}>
          {t("signIn.link")}
        </Button>
        <Button component="a" href="/" variant="default">
          {t("signIn.again")}
        </Button>
      </Stack>
    </form>
  );
}
