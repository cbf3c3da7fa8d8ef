/** Line icons of the navigation and buttons, drawn on a grid of 20. */
const paths = {
  home: "M3 10.5 10 4l7 6.5M5 9v7h10V9M8.5 16v-4h3v4",
  activity: "M4 5.5l1.5 1.5L8 4.5M4 12l1.5 1.5L8 11M11 6h6M11 12.5h6",
  push: "M10 12.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM5.5 14.5a6.3 6.3 0 0 1 0-9M14.5 5.5a6.3 6.3 0 0 1 0 9M3 17A10 10 0 0 1 3 3M17 3a10 10 0 0 1 0 14",
  people:
    "M8 9.5a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM2.5 16.5c0-3 2.5-4.5 5.5-4.5s5.5 1.5 5.5 4.5M13 4a3 3 0 0 1 0 5.5M15 12.5c1.7.6 2.5 2 2.5 4",
  runners: "M3 5h14v9H3zM7 17h6M10 14v3M6.5 8l2 1.7-2 1.7M10.5 11.5h3",
  audit: "M5 3h7l3 3v11H5zM12 3v3h3M7.5 9.5h5M7.5 12.5h5",
  system: "M3 4h14v5H3zM3 11h14v5H3zM6 6.5h.1M6 13.5h.1M10 6.5h4M10 13.5h4",
  account: "M10 10a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM3.5 17.5c0-3.5 3-5 6.5-5s6.5 1.5 6.5 5",
  manual: "M10 5.5C8 4 5.5 3.5 3 3.5v11.5c2.5 0 5 .5 7 2 2-1.5 4.5-2 7-2V3.5c-2.5 0-5 .5-7 2zM10 5.5v11.5",
  play: "M6 4l10 6-10 6z",
  copy: "M7 7h9v10H7zM4 13V3h9",
  check: "M4 10.5l4 4 8-9",
  search: "M8.5 14a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11zM13 13l4 4",
  download: "M10 3v9M6 8.5l4 4 4-4M4 16.5h12",
  stop: "M5 5h10v10H5z",
  again: "M15.5 6.5A6.5 6.5 0 1 0 16.5 10M16 3v4h-4",
  sun: "M10 13.5a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM10 2v2M10 16v2M2 10h2M16 10h2M4.3 4.3l1.4 1.4M14.3 14.3l1.4 1.4M15.7 4.3l-1.4 1.4M5.7 14.3l-1.4 1.4",
  moon: "M16.5 12A7 7 0 0 1 8 3.5a7 7 0 1 0 8.5 8.5z",
  plus: "M10 4v12M4 10h12",
  bin: "M4 6h12M8 6V4h4v2M5.5 6l.8 11h7.4l.8-11M8.5 9v5M11.5 9v5",
  link: "M8.5 11.5l3-3M7 9L4.8 11.2a2.8 2.8 0 0 0 4 4L11 13M9 7l2.2-2.2a2.8 2.8 0 0 1 4 4L13 11",
  branch:
    "M6 7.5v5M6 7.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM6 16.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM14 7.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM14 7.5c0 3-3 3.5-6 4",
  up: "M5 12l5-5 5 5",
  right: "M8 5l5 5-5 5",
  bell: "M5 14V9a5 5 0 0 1 10 0v5l1.5 1.5h-13zM8.5 17.5h3",
  down: "M5 8l5 5 5-5",
  out: "M8 4H4v12h4M8 10h9M13.5 6.5L17 10l-3.5 3.5",
  keyboard: "M2.5 5h15v10h-15zM5.5 8h.1M8.5 8h.1M11.5 8h.1M14.5 8h.1M6.5 12h7",
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name, size = 18 }: { name: IconName; size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 20 20"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.5"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      className="icon"
    >
      <path d={paths[name]} />
    </svg>
  );
}
