import { isObject, type JsonObject } from "../../json.ts";
import { at, listAt, textAt } from "./json-reader.ts";

/** Fields of a repository or project in which hosts name its clone and web addresses. */
const addressFields = [
  "clone_url",
  "ssh_url",
  "git_http_url",
  "git_ssh_url",
  "http_url",
  "html_url",
  "web_url",
  "homepage",
  "url",
];

const maxAddresses = 8;
const maxLength = 300;

/** Addresses of the repository that a payload is about; of a merge request, those of its target. */
export function repositoryAddressesOf(payload: JsonObject): string[] {
  const pullTarget = at(payload, "pullRequest", "toRef", "repository");
  const described = [at(payload, "project"), at(payload, "repository"), pullTarget].filter(isObject);
  const found = described.flatMap((repository) => [
    ...addressFields.map((field) => textAt(repository, field)),
    textAt(repository, "links", "html", "href"),
    ...(listAt(repository, "links", "clone") ?? [])
      .slice(0, maxAddresses)
      .map((link) => textAt(link, "href")),
  ]);
  const usable = found.filter((address) => address !== "" && address.length <= maxLength);
  return [...new Set(usable)].slice(0, maxAddresses);
}
