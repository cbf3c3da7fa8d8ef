import { Button, Group, PasswordInput, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useAct } from "../../act.ts";
import { answerOf, api } from "../../api.ts";
import { ForManagers } from "../../components/permission.tsx";
import { t } from "../../text/text.ts";
import { useUnsaved } from "../../unsaved.ts";

function textsOf(kind: "notify-key" | "status-token") {
  return kind === "notify-key"
    ? ({
        field: "notifyKeySet",
        label: t("notify.signingKey"),
        set: t("notify.signingKeySet"),
        unset: t("notify.signingKeyUnset"),
        done: t("notify.signingKeyStored"),
      } as const)
    : ({
        field: "statusTokenSet",
        label: t("settings.statusToken"),
        set: t("settings.statusTokenSet"),
        unset: t("settings.statusTokenUnset"),
        done: t("settings.statusTokenStored"),
      } as const);
}

/** A key of a project that can be stored and replaced, but not read. */
export function ProjectKey({ projectId, kind }: { projectId: number; kind: Parameters<typeof textsOf>[0] }) {
  const keys = useQuery({
    queryKey: ["project", projectId, "keys"],
    queryFn: () => answerOf(api.projects[":id"].keys.$get({ param: { id: projectId } })),
  });
  const about = textsOf(kind);
  const isSet = keys.data?.[about.field] ?? false;
  const [value, setValue] = useState("");
  useUnsaved(value !== "");
  const param = { id: projectId, kind };
  const set = useAct(() => answerOf(api.projects[":id"].keys[":kind"].$put({ param, json: { value } })), {
    done: about.done,
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
        <Group className="field-row" gap="sm" mt={6}>
          <PasswordInput
            label={about.label}
            required
            withAsterisk={false}
            w={260}
            autoComplete="off"
            value={value}
            error={set.errorOf("value")}
            onChange={(event) => setValue(event.currentTarget.value)}
          />
          <Button type="submit" variant="default" loading={set.isPending}>
            {isSet ? t("settings.replace") : t("settings.store")}
          </Button>
        </Group>
      </ForManagers>
    </form>
  );
}
