/** The hull on its slip. */
export function Mark({ size = 28 }: { size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 32 32" aria-hidden="true" className="mark">
      <rect width="32" height="32" rx="7" fill="#0b3b4a" />
      <path d="M4.5 20.6 27.5 26" stroke="#f2b35d" strokeWidth="2.2" strokeLinecap="round" />
      <path
        d="M6.4 10.4l6.3 1.5.9-3.9 4.6 1.1-.9 3.9 9.4 2.2c-.6 3.6-2.5 6.2-5.2 7.3L8.7 19.6c-1.7-2.4-2.5-5.6-2.3-9.2z"
        fill="#eaf6f5"
      />
    </svg>
  );
}
