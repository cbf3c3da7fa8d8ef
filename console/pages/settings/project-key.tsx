import { Button, Group, PasswordInput, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useAct } from "../../act.ts";
import { answerOf, api } from "../../api.ts";
import { ForManagers } from "../../components/permission.tsx";
import { useUnsaved } from "../../unsaved.ts";

const keyKinds = {
  "notify-key": {
    field: "notifyKeySet",
    label: "Signing key",
    set: "A signing key is set: receivers of signed webhooks can check where they come from.",
    unset: "No signing key is set: receivers of signed webhooks cannot check where they come from.",
  },
  "status-token": {
    field: "statusTokenSet",
    label: "Commit status token",
    set: "A token is set: the outcome of a task is reported to the commit at the Git host.",
    unset: "No token is set: the outcome of a task is not reported to the Git host.",
  },
} as const;

/** A key of a project that can be stored and replaced, but not read. */
export function ProjectKey({ projectId, kind }: { projectId: number; kind: keyof typeof keyKinds }) {
  const keys = useQuery({
    queryKey: ["project", projectId, "keys"],
    queryFn: () => answerOf(api.projects[":id"].keys.$get({ param: { id: projectId } })),
  });
  const about = keyKinds[kind];
  const isSet = keys.data?.[about.field] ?? false;
  const [value, setValue] = useState("");
  useUnsaved(value !== "");
  const param = { id: projectId, kind };
  const set = useAct(() => answerOf(api.projects[":id"].keys[":kind"].$put({ param, json: { value } })), {
    done: `The ${about.label.toLowerCase()} is stored.`,
    refresh: ["project"],
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    set.mutate(undefined, { onSuccess: () => setValue("") });
  };
  return (
    <form onSubmit={submit}>
      <Text size="sm" mt="lg">
        {isSet ? about.set : about.unset}
      </Text>
      <ForManagers>
        <Group align="flex-end" gap="sm" mt={6}>
          <PasswordInput
            label={about.label}
            required
            w={260}
            autoComplete="off"
            value={value}
            onChange={(event) => setValue(event.currentTarget.value)}
          />
          <Button type="submit" variant="default" loading={set.isPending}>
            {isSet ? "Replace it" : "Store it"}
          </Button>
        </Group>
      </ForManagers>
    </form>
  );
}
