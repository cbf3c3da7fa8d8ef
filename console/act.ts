import { notifications } from "@mantine/notifications";
import { type UseMutationResult, useMutation } from "@tanstack/react-query";
import { messageOf, queryClient } from "./api.ts";

/**
 * A change that somebody asked for: tells what was done, or what happened instead, and fetches again what it touched
 * (`refresh`: first words of query keys).
 */
export function useAct<Input, Output>(
  act: (input: Input) => Promise<Output>,
  { done, refresh = [] }: { done?: string | ((output: Output) => string); refresh?: string[] },
): UseMutationResult<Output, Error, Input> {
  return useMutation({
    mutationFn: act,
    onSuccess: async (output) => {
      if (done !== undefined) tell(typeof done === "string" ? done : done(output));
      await Promise.all(refresh.map((key) => queryClient.invalidateQueries({ queryKey: [key] })));
    },
    onError: (problem) => complain(problem),
  });
}

export function tell(message: string): void {
  notifications.show({ message, color: "tide", autoClose: 4000, withBorder: true });
}

export function complain(problem: unknown): void {
  notifications.show({
    title: "That did not work",
    message: messageOf(problem),
    color: "red",
    autoClose: 12_000,
    withBorder: true,
  });
}
