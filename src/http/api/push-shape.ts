import { gatewayPoint } from "../../model/console/gateway-minute.ts";
import { connectionsReport } from "../../model/gateway/connections-report.ts";
import { messageReport, refusedToken, reportedMessage } from "../../model/gateway/message-report.ts";
import { reasonPartsShape } from "./reason-shape.ts";
import { answered, time } from "./scalars.ts";
import { z } from "./shape.ts";

export const connectionsShape = z.object(connectionsReport.shape).openapi("PushConnections");

const count = z.number().int();
const pointShape = z.object(answered(gatewayPoint));

/** The output of http/gateway-history.ts. */
export const seriesShape = z
  .object({
    at: time.meta({ description: "The end of both series." }),
    connections: count
      .nullable()
      .openapi({ description: "In this minute. Null: no gateway has answered since the minute before." }),
    gateways: count.openapi({
      description: "How many gateways have answered since the minute before. Their connections are added.",
    }),
    hour: z.array(pointShape),
    day: z.array(pointShape),
  })
  .openapi("PushHistory", {
    description:
      "Connections and messages of the push gateway: the last hour by minutes, the last day by quarters of an hour, over all gateways whose servers use this database. A step without figures is left out: no server ran, or the gateway did not answer.",
  });

const { data, ...message } = answered(reportedMessage);

export const messagesShape = messageReport
  .extend({
    messages: z.array(z.object({ ...message, causeParts: reasonPartsShape, data: data.unwrap() })),
    refusedTokens: z
      .array(z.object({ ...answered(refusedToken), causeParts: reasonPartsShape }))
      .meta(messageReport.shape.refusedTokens.meta() ?? {}),
  })
  .openapi("PushMessages");
