import { z } from "zod";
import { ruleText } from "../../reason/rule-text.ts";
import { strict } from "../../reason/schema-forms.ts";
import { bodyOf, stepBodyFields } from "../pipeline.ts";
import { serviceBodyFields } from "../service/service.ts";

/*
 * What a pipeline in a file of the repository may say: that of a project, without what decides about the machine and the network.
 * Whoever can push can change the file.
 */

const { host: _host, network: _stepNetwork, ...stepFields } = stepBodyFields;
const { switchOnHost: _switchOnHost, network: _network, port: _port, ...serviceFields } = serviceBodyFields;

export const filePorts = ["$PORT", "none"] as const;

const port = z.enum(filePorts, { error: () => ruleText("file_port") }).meta({
  description:
    "`$PORT`: the runner chooses one, and the service starts beside the one that it replaces. `none`: the one that it replaces ends first.",
});

export const pipelineFileBody = bodyOf(
  strict(stepFields).partial(),
  strict({ ...serviceFields, port }).partial(),
);
