#!/usr/bin/env bun
import { buildApp } from "./app.ts";
import { loadConfig } from "./config-load.ts";
import { buildLog } from "./log.ts";

const config = await loadConfig({ env: process.env, flags: {} });
const log = buildLog(config["log.level"], config["log.format"]);
await buildApp(config, "start", log);
