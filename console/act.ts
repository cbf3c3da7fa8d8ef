import { type NotificationData, notifications } from "@mantine/notifications";
import { type UseMutationResult, useMutation } from "@tanstack/react-query";
import { ApiProblem, messageOf, queryClient, titleOf } from "./api.ts";
import { t } from "./text/text.ts";
import { toastPlace } from "./toast-place.ts";
import { visible } from "./visible.ts";

type Act<Input, Output> = Omit<UseMutationResult<Output, Error, Input>, "mutate"> & {
  mutate: (input: Input, after?: { onSuccess?: (output: Output) => void }) => void;
};

export interface Outcome<Output> {
  done?: string | ((output: Output) => string) | undefined;
  /** Names what failed: "Couldn't save the stages". */
  failed?: string | undefined;
  refresh?: string[] | undefined;
}

/**
 * A change that the user asked for. On success it shows `done` and refetches the queries whose keys begin with a word of
 * `refresh`. `mutate` shows an error as a notification; a caller of `mutateAsync` shows it in the form.
 */
export function useAct<Input, Output>(
  act: (input: Input) => Promise<Output>,
  { done, failed, refresh = [] }: Outcome<Output>,
): Act<Input, Output> {
  const mutation = useMutation({
    mutationFn: async (input: Input) => {
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
  return {
    ...mutation,
    mutate: (input, after) => void mutation.mutateAsync(input).then(after?.onSuccess, complain),
  };
}

export function tell(message: string): void {
  show({ message: visible(message), color: "tide", autoClose: 4000 });
}

/** A notification about something that needs an action. It stays until the user closes it. */
export function warn(message: string): void {
  show({ message: visible(message), color: "yellow", autoClose: false });
}

export function complain(problem: unknown): void {
  show({
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
