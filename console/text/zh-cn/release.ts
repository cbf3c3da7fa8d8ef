import type { release as english } from "../en/release.ts";
import type { Translated } from "../message.ts";

export const release: Translated<typeof english> = {
  deployed: "{when}部署",
  takesBack: "此后的更改（将被撤回）",
  goesAway: "这些提交将被撤回：",
  settings: "不同的设置",
  setting: "设置",
  settingThen: "此版本使用",
  settingNow: "项目当前",
  settingNone: "未设置",
  networkOf: "{stage} 的网络",
  settingsSame: "其变量、脚本和检查与项目当前的相同。密钥使用当前的值。",
  settingsReturn: "以下设置会随此版本恢复，不使用项目当前的设置。",
  settingsKeep: "密钥使用当前的值。要用项目当前的设置部署此提交，请在其任务上使用“重新运行”。",
  settingsUsed: "此回滚使用任务 {id} 的变量、脚本和检查，以及当前的密钥。项目现在的设置有所不同：",
};
