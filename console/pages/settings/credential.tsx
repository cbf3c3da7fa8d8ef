import { Group, PasswordInput, SegmentedControl, Text, Textarea, TextInput } from "@mantine/core";
import { answerOf, api } from "../../api.ts";
import { ConfirmButton } from "../../components/confirm.tsx";
import { FormButton } from "../../components/form-modal.tsx";
import { ForManagers } from "../../components/permission.tsx";
import type { Project } from "../../shapes.ts";
import { t } from "../../text/text.ts";

/** What a private repository is cloned with. It can be replaced and deleted, but not read. */
export function Credential({ project }: { project: Project }) {
  const param = { id: project.id };
  return (
    <div>
      <Text size="sm" fw={600}>
        {t("settings.credential")}
      </Text>
      <Text size="sm" c="dimmed" mb={6}>
        {project.git.credentialSet ? t("settings.credentialSet") : t("settings.credentialUnset")}
      </Text>
      <ForManagers>
        <Group gap="xs">
          <CredentialForm
            projectId={project.id}
            label={project.git.credentialSet ? t("settings.credentialReplace") : t("settings.credentialAdd")}
          />
          {project.git.credentialSet && (
            <ConfirmButton
              size="compact-sm"
              label={t("settings.credentialDelete")}
              title={t("settings.credentialDeleteQuestion")}
              confirm={t("settings.credentialDelete")}
              isDanger
              onConfirm={() => answerOf(api.projects[":id"].credential.$delete({ param }))}
              done={t("settings.credentialDeleted")}
              refresh={["project"]}
            >
              {t("settings.credentialDeleteHint")}
            </ConfirmButton>
          )}
        </Group>
      </ForManagers>
    </div>
  );
}

const keyExample = "-----BEGIN OPENSSH PRIVATE KEY-----";

const newCredential = { kind: "token", username: "git", token: "", privateKey: "" };

function CredentialForm({ projectId, label }: { projectId: number; label: string }) {
  return (
    <FormButton
      label={label}
      title={t("settings.credentialTitle")}
      submit={t("settings.credentialStore")}
      button={{ variant: "default", size: "compact-sm" }}
      initial={newCredential}
      onSubmit={({ kind, username, token, privateKey }) =>
        answerOf(
          api.projects[":id"].credential.$put({
            param: { id: projectId },
            json: kind === "ssh" ? { type: "ssh", privateKey } : { type: "token", username, token },
          }),
        )
      }
      done={t("settings.credentialStored")}
      refresh={["project"]}
    >
      {({ value, set, text }) => (
        <>
          <SegmentedControl
            aria-label={t("settings.credentialKind")}
            data={[
              { value: "token", label: t("settings.credentialToken") },
              { value: "ssh", label: t("settings.credentialSsh") },
            ]}
            value={value.kind}
            onChange={(kind) => set({ kind })}
          />
          {value.kind === "token" ? (
            <>
              <TextInput
                label={t("settings.username")}
                description={t("settings.usernameHint")}
                {...text("username")}
              />
              <PasswordInput label={t("settings.token")} required autoComplete="off" {...text("token")} />
            </>
          ) : (
            <Textarea
              className="script"
              label={t("settings.privateKey")}
              required
              rows={7}
              placeholder={keyExample}
              {...text("privateKey")}
            />
          )}
        </>
      )}
    </FormButton>
  );
}
