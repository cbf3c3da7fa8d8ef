import { expect, test } from "bun:test";
import { recognisedHost } from "../../src/git-host/recognise.ts";
import { presetsFor } from "../../src/set-up/presets.ts";

const presets = (names: string[], packageJson = "") =>
  presetsFor(names, new Map([["package.json", packageJson]]), "shop");
const namesOf = (files: string[], packageJson = "") => presets(files, packageJson).map(({ name }) => name);

test("the files in the root of a repository suggest its stages, containers first", () => {
  expect(namesOf(["README.md"])).toEqual([]);
  expect(namesOf(["compose.yaml", "Dockerfile", "package.json"])).toEqual([
    "compose",
    "dockerfile",
    "node-static",
  ]);
  expect(namesOf(["docker-compose.yml"])).toEqual(["compose"]);
  expect(namesOf(["pom.xml"])).toEqual(["maven"]);
  expect(namesOf(["build.gradle.kts", "gradlew"])).toEqual(["gradle"]);
  expect(namesOf(["go.mod", "go.sum"])).toEqual(["go"]);
  expect(namesOf(["index.html"])).toEqual(["static"]);
  expect(namesOf(["package.json"], '{"scripts":{"start":"node ."}}')).toEqual(["node"]);
});

test("the lock file chooses the package manager, and a broken package.json is no error", () => {
  const scripts = JSON.stringify({ scripts: { build: "vite build", start: "node ." } });
  const buildOf = (lock: string) => presets(["package.json", lock], scripts)[0]?.build.split("\n")[0];
  expect(buildOf("package-lock.json")).toStartWith("npm ci");
  expect(buildOf("none")).toStartWith("npm install");
  expect(buildOf("pnpm-lock.yaml")).toBe("corepack pnpm install --frozen-lockfile");
  expect(buildOf("yarn.lock")).toBe("corepack yarn install --immutable");
  expect(buildOf("bun.lock")).toBe("bun install --frozen-lockfile");
  for (const broken of ["{", "null", "[]", '{"scripts":7}', '{"scripts":null}'])
    expect(namesOf(["package.json"], broken)).toEqual(["node-static"]);
});

test("stages that use the engine or a folder of the machine are meant for host steps, and no build is", () => {
  const files = ["compose.yaml", "Dockerfile", "pom.xml", "build.gradle", "go.mod", "index.html"];
  for (const { name, build, deploy, start, hostStages } of [
    ...presets(files),
    ...presets(["package.json"]),
    ...presets(["package.json"], '{"scripts":{"start":"node ."}}'),
  ]) {
    const changesMachine = (script: string) => /docker|SITE_DIR/.test(script);
    expect([name, changesMachine(build)]).toEqual([name, false]);
    expect([name, hostStages.includes("deploy")]).toEqual([name, changesMachine(deploy)]);
    expect([name, hostStages.includes("start")]).toEqual([name, changesMachine(start)]);
  }
});

test("the host of a clone URL is recognised by its name", () => {
  expect(recognisedHost("https://github.com/ann/shop.git")).toBe("github");
  expect(recognisedHost("git@gitlab.com:ann/shop.git")).toBe("gitlab");
  expect(recognisedHost("ssh://git@gitlab.example.com:2222/ann/shop.git")).toBe("gitlab");
  expect(recognisedHost("https://gitee.com/ann/shop")).toBe("gitee");
  expect(recognisedHost("https://codeberg.org/ann/shop")).toBe("gitea");
  expect(recognisedHost("https://forgejo.example.com/ann/shop")).toBe("gitea");
  expect(recognisedHost("https://git.example.com/github/shop")).toBeNull();
  expect(recognisedHost("https://notgithub.com/ann/shop")).toBeNull();
  expect(recognisedHost("/srv/git/shop.git")).toBeNull();
});
