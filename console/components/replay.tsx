import { Button, Group, Modal, Table, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { complain, tell, useAct } from "../act.ts";
import { answerOf, api } from "../api.ts";
import { type DeliveryFilters, filterOf } from "../delivery-query.ts";
import { meQuery } from "../session.ts";
import type { Delivery } from "../shapes.ts";
import { shortCommit } from "../time-text.ts";
import { visible } from "../visible.ts";
import { ConfirmButton } from "./confirm.tsx";
import { Icon } from "./icon.tsx";
import { Moment } from "./moment.tsx";
import { Loaded } from "./query.tsx";

const touched = ["deliveries", "delivery", "tasks", "overview"];

/** Triggers one delivery again from what is stored of it. */
export function ReplayOne({ delivery }: { delivery: Delivery }) {
  const { data: me } = useQuery(meQuery);
  const hadBadSignature = delivery.code === "signature_invalid";
  const wasRefusedUnjudged = ["rate_limited", "lock_timeout", "internal_error"].includes(delivery.code);
  const replay = useAct(
    () =>
      answerOf(
        api.webhooks.deliveries[":id"].replay.$post({
          param: { id: delivery.id },
          json: { force: hadBadSignature },
        }),
      ),
    { done: (answer) => `Replayed as delivery ${answer.deliveryId}: ${answer.message}`, refresh: touched },
  );
  if (me?.role !== "admin") return null;
  return (
    <ConfirmButton
      label="Replay"
      leftSection={<Icon name="again" size={15} />}
      title={`Replay delivery ${delivery.id}?`}
      confirm={hadBadSignature ? "Replay it all the same" : "Replay it"}
      isDanger={hadBadSignature}
      onConfirm={() => replay.mutateAsync(undefined)}
    >
      The current rules are applied again, without signature
      {wasRefusedUnjudged ? " and debounce" : ", debounce and event list"}. It may start a deploy.
      {hadBadSignature &&
        " Its signature failed: the sender is unknown. Replay it only if you know who sent it."}
    </ConfirmButton>
  );
}

/** Replays what the filters find: the latest of each ref, after a look at which those are, a hundred at a time. */
export function ReplayMany({ filters }: { filters: DeliveryFilters }) {
  const [isOpen, { open, close }] = useDisclosure(false);
  const [after, setAfter] = useState<string | null>(null);
  const filter = filterOf(filters);
  const ask = (isPreview: boolean) =>
    answerOf(api.webhooks.deliveries.replay.$post({ json: { filter, preview: isPreview, after } }));
  const preview = useQuery({
    queryKey: ["replay-preview", filter, after],
    queryFn: () => ask(true),
    enabled: isOpen,
    staleTime: 0,
  });
  const replay = useAct(() => ask(false), { refresh: touched });
  const start = () => {
    setAfter(null);
    open();
  };
  const goOn = ({ message, failed, next }: Awaited<ReturnType<typeof ask>>) => {
    if (failed > 0) complain(new Error(message));
    else tell(message);
    if (next === null) close();
    else setAfter(next);
  };
  return (
    <>
      <Button variant="default" onClick={start}>
        Replay these…
      </Button>
      <Modal
        opened={isOpen}
        onClose={close}
        size="lg"
        title={<Text fw={620}>Replay what the filters find</Text>}
      >
        <Text size="sm" mb="sm">
          Of all that the filters find, the latest of each branch or tag is replayed, a hundred at a time.
          Then the next hundred are shown.
        </Text>
        <Loaded query={preview}>
          {({ items, message }) => (
            <>
              <Text size="sm" c="dimmed" mb="sm">
                {visible(message)}
              </Text>
              {items.length > 0 && (
                <div className="replay-list">
                  <Table aria-label="What would be replayed">
                    <Table.Tbody>
                      {items.map(({ delivery }) => (
                        <Table.Tr key={delivery.id}>
                          <Table.Td className="figures">{delivery.id}</Table.Td>
                          <Table.Td>
                            <span className="foreign">{visible(delivery.project_name)}</span>
                          </Table.Td>
                          <Table.Td>
                            <span className="foreign">{visible(delivery.ref)}</span>
                          </Table.Td>
                          <Table.Td className="mono">{visible(shortCommit(delivery.commit))}</Table.Td>
                          <Table.Td>
                            <Moment at={delivery.created_at} />
                          </Table.Td>
                        </Table.Tr>
                      ))}
                    </Table.Tbody>
                  </Table>
                </div>
              )}
              <Group justify="flex-end" mt="lg">
                <Button variant="default" onClick={close}>
                  Cancel
                </Button>
                <Button
                  disabled={items.length === 0}
                  loading={replay.isPending}
                  onClick={() => replay.mutate(undefined, { onSuccess: goOn })}
                >
                  Replay {items.length}
                </Button>
              </Group>
            </>
          )}
        </Loaded>
      </Modal>
    </>
  );
}
