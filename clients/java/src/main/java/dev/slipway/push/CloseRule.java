package dev.slipway.push;

/** When the client connects again. */
enum CloseRule {
  NEW_CODE,
  STOP,
  SOON,
  BACK_OFF;

  /** 4001, 4005: with a new code; other 40xx: not at all; 42xx and 1012: within a second; all others: back off. */
  static CloseRule of(int code) {
    if (code == 4001 || code == 4005) return NEW_CODE;
    if (code >= 4000 && code < 4100) return STOP;
    if (code == 1012 || (code >= 4200 && code < 4300)) return SOON;
    return BACK_OFF;
  }

  /** The close code that stands for a refused handshake. A proxy that refuses upgrades answers 400 or 403 too. */
  static int closeCodeOf(int status, boolean isFromGateway) {
    return switch (status) {
      case 400 -> isFromGateway ? 4000 : 1006;
      case 401 -> 4001;
      case 403 -> isFromGateway ? 4002 : 1006;
      case 429, 503 -> 4100;
      default -> 1006;
    };
  }
}
