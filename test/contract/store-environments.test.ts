import { describe, expect, test } from "bun:test";
import type { Environment } from "../../src/model/environment/environment.ts";
import { projectRevision } from "../../src/model/project.ts";
import { changeProject, createProject } from "../../src/task/change-project.ts";
import { availableDatabases } from "../support/databases.ts";
import { sampleAuditEntry as audited, sampleProject } from "../support/samples.ts";
import { setUpStore } from "../support/store-setup.ts";

const staging: Environment = {
  ...{ name: "staging", refs: ["main"], from: null, env: {}, labels: null, domains: {}, limits: {} },
  ...{ deploy: null, publicUrl: "" },
};

describe.each(await availableDatabases())("environments on $name", async ({ make }) => {
  const { store } = await setUpStore(make);

  test("one that is added again is a new one, also if the deletion of the earlier one was interrupted", async () => {
    const asked = sampleProject({ environments: [staging] });
    const { id } = await store.run(createProject, { asked, visible: [], audited });
    const change = async (environments: Environment[]) => {
      const before = await store.projects.byId(id);
      return store.run(changeProject, {
        ...{ id, revision: before === null ? "" : projectRevision(before), visible: [], audited: null },
        ...{ change: { environments }, secrets: [], forget: [] },
      });
    };
    const [earlier] = await store.projects.environmentsOf([id]);
    await store.projects.setSecret(earlier?.id ?? 0, "TOKEN", "sealed");
    expect((await change([]))?.removed.map((each) => each.id)).toEqual([earlier?.id ?? 0]);
    expect(await store.projects.secretNames([earlier?.id ?? 0])).toEqual([]);
    // It was not deleted, and is named again for that.
    expect((await change([staging]))?.removed.map((each) => each.id)).toEqual([earlier?.id ?? 0]);
    const named = (await store.projects.environmentsOf([id])).filter(
      ({ environment }) => environment !== null,
    );
    expect(named).toMatchObject([{ name: `${asked.name}/staging`, environment: staging }]);
    expect(named[0]?.id).not.toBe(earlier?.id ?? 0);
  });
});
