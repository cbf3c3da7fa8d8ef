import { type NotificationData, notifications } from "@mantine/notifications";
import { type UseMutationResult, useMutation } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { ApiProblem, messageOf, queryClient, titleOf } from "./api.ts";
import { t } from "./text/text.ts";
import { toastPlace } from "./toast-place.ts";
import { visible } from "./visible.ts";

type Act<Input, Output> = Omit<UseMutationResult<Output, Error, Input>, "mutate"> & {
  mutate: (input: Input, after?: { onSuccess?: (output: Output) => void }) => void;
  /** What the server refused about a field of the form, to be shown at it. */
  errorOf: (field: string) => string | undefined;
  /** What failed, unless the fields above have shown it. */
  otherProblem: () => Error | null;
};

export interface Outcome<Output> {
  done?: string | ((output: Output) => string) | undefined;
  /** Names what failed: "Couldn't save the stages". */
  failed?: string | undefined;
  refresh?: string[] | undefined;
}

/**
 * A change that the user asked for. On success it shows `done` and refetches the queries whose keys begin with a word of
 * `refresh`. `mutate` shows an error as a notification, unless each of its fields asked for it with `errorOf`; a caller
 * of `mutateAsync` shows it in the form.
 */
export function useAct<Input, Output>(
  act: (input: Input) => Promise<Output>,
  { done, failed, refresh = [] }: Outcome<Output>,
): Act<Input, Output> {
  const mutation = useMutation({
    mutationFn: async (input: Input) => {
      hideTold();
      hideComplaint();
      try {
        return await act(input);
      } catch (problem) {
        if (failed !== undefined && problem instanceof ApiProblem) problem.title ??= failed;
        throw problem;
      }
    },
    onSuccess: async (output) => {
      if (done !== undefined) tell(typeof done === "string" ? done : done(output));
      // Any change may end or cause a notice of the frame.
      await Promise.all(
        [...refresh, "notices"].map((key) => queryClient.invalidateQueries({ queryKey: [key] })),
      );
    },
  });
  const refused = mutation.error instanceof ApiProblem ? mutation.error : null;
  const shownFields = new Set<string>();
  const isShown = (problem: unknown) => problem instanceof ApiProblem && problem.isAbout(shownFields);
  return {
    ...mutation,
    mutate: (input, after) =>
      void mutation.mutateAsync(input).then(after?.onSuccess, (problem: unknown) => {
        if (!isShown(problem)) complaint = complain(problem);
      }),
    errorOf: (field) => {
      shownFields.add(field);
      return refused?.about(field);
    },
    otherProblem: () => (isShown(mutation.error) ? null : mutation.error),
  };
}

/** The last success that was told. Beside a later change that fails it would be taken for its result. */
let told: string | null = null;

function hideTold(): void {
  if (told !== null) notifications.hide(told);
  told = null;
}

/** The last failure of a change. */
let complaint: string | null = null;

/** The next change, or another page, has nothing to do with what failed before. */
export function hideComplaint(): void {
  if (complaint !== null) notifications.hide(complaint);
  complaint = null;
}

export function tell(message: ReactNode, shownMs = 4000): void {
  told = show({
    message: typeof message === "string" ? visible(message) : message,
    color: "tide",
    autoClose: shownMs,
  });
}

/** A notification about something that needs an action. It stays until the user closes it. */
export function warn(message: string): void {
  show({ message: visible(message), color: "lamp", autoClose: false });
}

export function complain(problem: unknown): string {
  return show({
    title: titleOf(problem),
    message: visible(messageOf(problem)),
    color: "red",
    autoClose: 12_000,
  });
}

/** An error that no request caused. */
export function complainOf(message: string): void {
  show({ message: visible(message), color: "red", autoClose: 12_000 });
}

/** Every notification: it covers no action, and its button to close has a name. Returns its id. */
export function show(notification: NotificationData): string {
  return notifications.show({
    ...notification,
    withBorder: true,
    position: toastPlace(),
    closeButtonProps: { "aria-label": t("words.close") },
  });
}
