import type { ProviderName } from "../../../src/git-host/hosts.ts";
import { t } from "../../text/text.ts";

export interface Host {
  name: string;
  /** Above the steps, if "At <name>" does not fit. */
  heading?: string;
  /** What to do in the host's own pages, in order. */
  steps: string[];
  /** How a delivery proves its sender. */
  proof: string;
}

const lines = (text: string) => text.split("\n");

/** The Git hosts: where the webhook form is and what to enter there. */
export function hosts(): Record<ProviderName, Host> {
  return {
    github: {
      name: "GitHub",
      steps: lines(t("hosts.githubSteps")),
      proof: t("hosts.githubProof"),
    },
    gitlab: {
      name: "GitLab",
      steps: lines(t("hosts.gitlabSteps")),
      proof: t("hosts.gitlabProof"),
    },
    gitee: {
      name: "Gitee",
      steps: lines(t("hosts.giteeSteps")),
      proof: t("hosts.giteeProof"),
    },
    codeup: {
      name: t("hosts.codeupName"),
      steps: lines(t("hosts.codeupSteps")),
      proof: t("hosts.codeupProof"),
    },
    gitea: {
      name: "Gitea / Forgejo",
      steps: lines(t("hosts.giteaSteps")),
      proof: t("hosts.giteaProof"),
    },
    gogs: {
      name: "Gogs",
      steps: lines(t("hosts.gogsSteps")),
      proof: t("hosts.gogsProof"),
    },
    bitbucket: {
      name: "Bitbucket",
      steps: lines(t("hosts.bitbucketSteps")),
      proof: t("hosts.bitbucketProof"),
    },
    generic: {
      name: t("hosts.genericName"),
      heading: t("hosts.genericHeading"),
      steps: lines(t("hosts.genericSteps")),
      proof: t("hosts.genericProof"),
    },
    hosta: {
      name: t("hosts.hostaName"),
      steps: lines(t("hosts.hostaSteps")),
      proof: t("hosts.hostaProof"),
    },
    hostb: {
      name: t("hosts.hostbName"),
      steps: lines(t("hosts.hostbSteps")),
      proof: t("hosts.hostbProof"),
    },
    hostc: {
      name: t("hosts.hostcName"),
      steps: lines(t("hosts.hostcSteps")),
      proof: t("hosts.hostcProof"),
    },
    hostd: {
      name: t("hosts.hostdName"),
      steps: lines(t("hosts.hostdSteps")),
      proof: t("hosts.hostdProof"),
    },
  };
}

export function hostChoices() {
  return Object.entries(hosts()).map(([value, { name }]) => ({ value, label: name }));
}

export function isHostName(name: string | null): name is ProviderName {
  return name !== null && name in hosts();
}
