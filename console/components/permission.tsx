import { MantineThemeProvider } from "@mantine/core";
import { createContext, type ReactNode, useContext } from "react";
import type { Project } from "../shapes.ts";

const readOnly = { defaultProps: { readOnly: true } };
const disabled = { defaultProps: { disabled: true } };

/** Every kind of field that the forms of a project have: text can be read and copied, nothing can be changed. */
const viewersTheme = {
  components: {
    TextInput: readOnly,
    Textarea: readOnly,
    NumberInput: readOnly,
    Select: readOnly,
    MultiSelect: readOnly,
    TagsInput: readOnly,
    SegmentedControl: disabled,
    Checkbox: disabled,
    Switch: disabled,
  },
};

const MayManage = createContext(true);

/** Around what belongs to a project or group: forms inside are for reading unless one may manage it. */
export function Permitted({
  permission,
  children,
}: {
  permission: Project["permission"];
  children: ReactNode;
}) {
  const mayManage = permission === "manage";
  return (
    <MayManage value={mayManage}>
      <MantineThemeProvider inherit theme={mayManage ? {} : viewersTheme}>
        {mayManage ? children : <div className="read-only">{children}</div>}
      </MantineThemeProvider>
    </MayManage>
  );
}

/** Whether the user may change what the surrounding part of the page shows. */
export function useMayManage(): boolean {
  return useContext(MayManage);
}

/** What the server would refuse to everybody else is not offered to them. */
export function ForManagers({ children }: { children: ReactNode }) {
  return useMayManage() ? children : null;
}
