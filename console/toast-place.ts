import type { NotificationsProps } from "@mantine/notifications";

type NotificationPosition = NonNullable<NotificationsProps["position"]>;

const size = { width: 440, height: 110 };
const margin = 16;

/** Places in the order of preference. */
const places: NotificationPosition[] = [
  "bottom-right",
  "bottom-center",
  "bottom-left",
  "top-center",
  "top-right",
];

const actions = "a[href], button, input, textarea, select, summary, [role=option], [role=tab]";

/** A place where a notification covers no button, link or field that is in sight; else the first one. */
export function toastPlace(): NotificationPosition {
  return places.find((place) => !coversAction(boxOf(place))) ?? "bottom-right";
}

function boxOf(place: NotificationPosition): DOMRect {
  const [vertical, horizontal] = place.split("-");
  const width = Math.min(size.width, innerWidth - 2 * margin);
  const left =
    horizontal === "right"
      ? innerWidth - width - margin
      : horizontal === "left"
        ? margin
        : (innerWidth - width) / 2;
  const top = vertical === "top" ? margin : innerHeight - size.height - margin;
  return new DOMRect(left, top, width, size.height);
}

function coversAction(box: DOMRect): boolean {
  return [...document.querySelectorAll<HTMLElement>(actions)].some((element) => {
    if (element.closest(".mantine-Notifications-root") !== null) return false;
    const { left, right, top, bottom } = element.getBoundingClientRect();
    return (
      left < box.right &&
      right > box.left &&
      top < box.bottom &&
      bottom > box.top &&
      element.checkVisibility()
    );
  });
}
