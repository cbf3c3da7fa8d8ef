import { queryOptions } from "@tanstack/react-query";
import { answerOf, api } from "./api.ts";

/** The address that receives the messages of all projects. */
export const defaultNotifyQuery = queryOptions({
  queryKey: ["default-notify"],
  queryFn: () => answerOf(api["default-notify"].$get()),
});
