/** The languages of the console. The first one is used when a browser asks for none of them. */
export const languages = ["en", "zh-CN"] as const;

export type Language = (typeof languages)[number];
