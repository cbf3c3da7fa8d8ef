// A classic script that runs before the first paint and before the modules of the page.
import "./color-scheme.ts";
import { zhCN } from "./text/zh-cn.ts";

globalThis.slipwayText = { language: "zh-CN", messages: zhCN };
