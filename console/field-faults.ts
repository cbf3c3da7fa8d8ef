import { t } from "./text/text.ts";

type Field = HTMLInputElement | HTMLTextAreaElement;

/**
 * A field that keeps its form from being sent says why below itself, where it also says what the server refused, and in the
 * language of the console: a browser would show a bubble that vanishes.
 */
export function sayFaultsAtFields(): void {
  document.addEventListener(
    "invalid",
    (event) => {
      const field = event.target;
      if (!(field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement)) return;
      const place = field.closest(".mantine-InputWrapper-root");
      if (place === null) return;
      event.preventDefault();
      if (firstFaultOf(field.form) === field) field.focus();
      if (place.querySelector(".field-fault") === null) sayAt(field, place);
    },
    { capture: true },
  );
}

function firstFaultOf(form: HTMLFormElement | null): Element | null {
  return form?.querySelector(":is(input, textarea):invalid") ?? null;
}

/** Until something is typed. */
function sayAt(field: Field, place: Element): void {
  const note = document.createElement("p");
  note.className = "field-fault";
  note.id = `${field.id}-fault`;
  note.textContent = textOf(field);
  place.append(note);
  const before = field.getAttribute("aria-describedby");
  field.setAttribute("aria-describedby", before === null ? note.id : `${before} ${note.id}`);
  field.setAttribute("aria-invalid", "true");
  const forget = () => {
    note.remove();
    field.removeAttribute("aria-invalid");
    if (before === null) field.removeAttribute("aria-describedby");
    else field.setAttribute("aria-describedby", before);
  };
  field.addEventListener("input", forget, { once: true });
}

function textOf({ validity, minLength, validationMessage }: Field): string {
  if (validity.valueMissing) return t("form.missing");
  if (validity.tooShort) return t("form.short", { count: minLength });
  return validationMessage;
}
