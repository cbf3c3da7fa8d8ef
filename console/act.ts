import { notifications } from "@mantine/notifications";
import { type UseMutationResult, useMutation } from "@tanstack/react-query";
import { messageOf, queryClient } from "./api.ts";
import { visible } from "./visible.ts";

type Act<Input, Output> = Omit<UseMutationResult<Output, Error, Input>, "mutate"> & {
  mutate: (input: Input, after?: { onSuccess?: (output: Output) => void }) => void;
};

/**
 * A change that somebody asked for: tells what was done, and fetches again what it touched (`refresh`: first words of
 * query keys). What happened instead is told by `mutate`; who awaits `mutateAsync` shows it where it was asked for.
 */
export function useAct<Input, Output>(
  act: (input: Input) => Promise<Output>,
  { done, refresh = [] }: { done?: string | ((output: Output) => string); refresh?: string[] },
): Act<Input, Output> {
  const mutation = useMutation({
    mutationFn: act,
    onSuccess: async (output) => {
      if (done !== undefined) tell(typeof done === "string" ? done : done(output));
      await Promise.all(refresh.map((key) => queryClient.invalidateQueries({ queryKey: [key] })));
    },
  });
  return {
    ...mutation,
    mutate: (input, after) => void mutation.mutateAsync(input).then(after?.onSuccess, complain),
  };
}

export function tell(message: string): void {
  notifications.show({ message: visible(message), color: "tide", autoClose: 4000, withBorder: true });
}

/** A notification about something that needs an action. It stays until the user closes it. */
export function warn(message: string): void {
  notifications.show({ message: visible(message), color: "yellow", autoClose: false, withBorder: true });
}

export function complain(problem: unknown): void {
  notifications.show({
    title: "That did not work",
    message: visible(messageOf(problem)),
    color: "red",
    autoClose: 12_000,
    withBorder: true,
  });
}
