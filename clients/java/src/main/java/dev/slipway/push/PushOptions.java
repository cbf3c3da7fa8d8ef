package dev.slipway.push;

import java.net.http.HttpClient;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Settings of a client, with their defaults: {@code new PushOptions("wss://push.example.com/ws", this::fetchCode)}. */
public final class PushOptions {
  final String url;
  final CodeProvider code;
  List<String> channels = List.of();
  boolean temporary = false;
  Duration minDelay = Duration.ofSeconds(1);
  Duration maxDelay = Duration.ofSeconds(30);
  Duration connectTimeout = Duration.ofSeconds(15);
  Duration heartbeatInterval = Duration.ofSeconds(25);
  Duration heartbeatTimeout = Duration.ofSeconds(10);
  String heartbeatContent = "ping";
  Duration upgradeRetry = Duration.ofSeconds(30);
  String resumeKey;
  SessionStore sessionStore;
  HttpClient httpClient;

  /** @param url {@code wss://host/ws}; {@code https://...} means the same */
  public PushOptions(String url, CodeProvider code) {
    this.url = url.replaceFirst("^http", "ws");
    this.code = code;
  }

  public PushOptions channels(String... names) {
    channels = new ArrayList<>(List.of(names));
    return this;
  }

  /** Requests a temporary connection. */
  public PushOptions temporary(boolean value) {
    temporary = value;
    return this;
  }

  /** First and longest pause between attempts; the actual pause is a random time between half of it and all of it. */
  public PushOptions delays(Duration shortest, Duration longest) {
    minDelay = shortest;
    maxDelay = longest;
    return this;
  }

  /** From the request for a code to the welcome. */
  public PushOptions connectTimeout(Duration value) {
    connectTimeout = value;
    return this;
  }

  /** After {@code interval} without a frame a heartbeat is sent; without a reply within {@code timeout} it reconnects. */
  public PushOptions heartbeat(Duration interval, Duration timeout, String content) {
    heartbeatInterval = interval;
    heartbeatTimeout = timeout;
    heartbeatContent = content;
    return this;
  }

  /** While WebSockets are refused: the pause until one is tried again. Each further one is twice as long, up to ten minutes. */
  public PushOptions upgradeRetry(Duration value) {
    upgradeRetry = value;
    return this;
  }

  /** Keeps position and channels under this name, so that a process that starts again resumes. One client uses it at a time. */
  public PushOptions resumeKey(String value) {
    resumeKey = value;
    return this;
  }

  /** Instead of {@link FileSessionStore}. */
  public PushOptions sessionStore(SessionStore value) {
    sessionStore = value;
    return this;
  }

  /** Instead of one of its own, for a proxy or certificates. */
  public PushOptions httpClient(HttpClient value) {
    httpClient = value;
    return this;
  }
}
