package dev.slipway.push;

import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * A connection to the gateway that is opened again until it is closed. All state belongs to one thread, which ends when
 * it has been idle; methods may be called from any thread.
 */
public final class SlipwayPush implements AutoCloseable {
  /** HTTP servers limit the request line. Channels that do not fit into the query are joined after the welcome. */
  private static final int MAX_CHANNEL_QUERY = 8000;

  private final PushOptions options;
  private final PushListener listener;
  private final HttpClient client;
  private final ScheduledThreadPoolExecutor thread = daemon("slipway-push");
  private final ScheduledThreadPoolExecutor codeThread = daemon("slipway-push-code");
  private final Fallback fallback;
  private final Pauses pauses;
  private final KeptSession session;
  private final Set<String> channels;
  private volatile PushStatus status =
      new PushStatus(PushStatus.State.CLOSED, "not opened yet", null, null);
  private volatile Link link;
  private volatile boolean acceptsMessages = true;
  private int attempt; // Events of older attempts are ignored.
  private String position;
  private boolean wasOpen;
  private Duration quiet; // A heartbeat is sent after this long without a frame.
  /** Of the handshake, of the pause or of the heartbeat, depending on the state. */
  private ScheduledFuture<?> timer;

  public SlipwayPush(PushOptions options, PushListener listener) {
    this.options = options;
    this.listener = listener;
    quiet = options.heartbeatInterval;
    client = options.httpClient == null ? HttpClient.newHttpClient() : options.httpClient;
    pauses = new Pauses(options);
    fallback = new Fallback(client, thread, options);
    session = new KeptSession(options.resumeKey, options.sessionStore);
    channels = new LinkedHashSet<>(options.channels);
    KeptSession.Session kept = session.read();
    if (kept == null) return;
    position = kept.position();
    wasOpen = true;
    channels.addAll(kept.channels());
  }

  public PushStatus status() {
    return status;
  }

  /** Connects, and reconnects until close() or a close code that forbids it. */
  public void open() {
    thread.execute(
        () -> {
          if (status.state() != PushStatus.State.CLOSED) return;
          pauses.start();
          connect();
        });
  }

  /** Ends the connection and every further attempt. open() may be called again. */
  @Override
  public void close() {
    thread.execute(() -> end("closed by the application", 1000));
  }

  /** False: the connection is not open, or the gateway accepts no client messages. Messages are not queued. */
  public boolean send(String data) {
    return acceptsMessages && write("type", "message", "data", data);
  }

  /** The channel is joined again after each reconnect. A refusal is reported as a problem. */
  public void join(String channel) {
    thread.execute(
        () -> {
          boolean isNew = channels.add(channel);
          // Before it is sent: the process may end right after that.
          keep(position);
          if (isNew) write("type", "join", "channel", channel);
        });
  }

  public void leave(String channel) {
    thread.execute(
        () -> {
          boolean wasIn = channels.remove(channel);
          keep(position);
          if (wasIn) write("type", "leave", "channel", channel);
        });
  }

  private void connect() {
    int current = ++attempt;
    setStatus(PushStatus.State.CONNECTING, "connecting", status.closeCode(), null);
    Duration limit = options.connectTimeout;
    restartTimer(limit, () -> lost(current, 1006, "no answer within " + limit.toMillis() + " ms"));
    requestCode(
        current,
        code -> {
          if (code == null) end("no code to connect with", null);
          else startLink(current, code);
        },
        failure -> lost(current, 1006, "no code: " + failure.getMessage()));
  }

  /** The provider may block, so it has a thread of its own. */
  private void requestCode(int current, Consumer<String> found, Consumer<Exception> failed) {
    codeThread.execute(
        () -> {
          Callable<Runnable> request =
              () -> {
                String code = options.code.code();
                return () -> found.accept(code);
              };
          Runnable then;
          try {
            then = request.call();
          } catch (Exception failure) {
            then = () -> failed.accept(failure);
          }
          Runnable next = then;
          thread.execute(
              () -> {
                if (current == attempt) next.run();
              });
        });
  }

  private void startLink(int current, String code) {
    List<String> requested = channelsThatFit();
    Link.Events events =
        new Link.Events() {
          @Override
          public void frame(String text) {
            if (current != attempt) return;
            watchHeartbeat(current);
            receive(text, requested);
          }

          @Override
          public void closed(int closeCode, String reason) {
            lost(current, closeCode, reason);
          }
        };
    try {
      link = fallback.connect(addressOf(code, requested, position), renewal(current), events);
    } catch (IllegalArgumentException invalid) {
      lost(current, 1006, invalid.getMessage());
    }
  }

  /** The address of a connection that is only tried. */
  private Fallback.Renewal renewal(int current) {
    return found ->
        requestCode(
            current,
            code -> found.accept(code == null ? null : addressOf(code, List.of(), null)),
            failure -> found.accept(null));
  }

  private List<String> channelsThatFit() {
    int room = MAX_CHANNEL_QUERY;
    List<String> fitting = new ArrayList<>();
    for (String channel : channels) {
      room -= encoded(channel).length() + "&channel=".length();
      if (room >= 0) fitting.add(channel);
    }
    return fitting;
  }

  private String addressOf(String code, List<String> requested, String from) {
    StringBuilder url = new StringBuilder(options.url);
    url.append(options.url.contains("?") ? "&" : "?").append("code=").append(encoded(code));
    if (options.temporary) url.append("&temp=1");
    for (String channel : requested) url.append("&channel=").append(encoded(channel));
    if (from != null) url.append("&resume=").append(encoded(from));
    return url.toString();
  }

  private static String encoded(String value) {
    return URLEncoder.encode(value, StandardCharsets.UTF_8);
  }

  private void receive(String text, List<String> requested) {
    if (text.equals(options.heartbeatContent)) return;
    Map<String, Object> frame = Json.object(text);
    switch (textOf(frame, "type")) {
      case "welcome" -> welcome(frame, requested);
      case "message" -> deliver(frame);
      case "position" -> keep(textOf(frame, "lastId"));
      case "joined" -> tell(() -> listener.onJoined(textOf(frame, "channel")));
      case "left" -> tell(() -> listener.onLeft(textOf(frame, "channel")));
      case "memberJoined" -> member(frame, true);
      case "memberLeft" -> member(frame, false);
      case "refresh" -> refresh();
      case "error" -> problem(frame);
      default -> {}
    }
  }

  private void welcome(Map<String, Object> frame, List<String> requested) {
    boolean reconnected = wasOpen;
    boolean isRecovered = Boolean.TRUE.equals(frame.get("recovered"));
    List<String> unrequested = channels.stream().filter(channel -> !requested.contains(channel)).toList();
    wasOpen = true;
    pauses.opened();
    quiet = quietIn(frame);
    acceptsMessages = !Boolean.FALSE.equals(frame.get("acceptsMessages"));
    if (!isRecovered && frame.get("lastId") instanceof String lastId) keep(lastId);
    setStatus(PushStatus.State.OPEN, "connected", status.closeCode(), null);
    // Channels that were joined or left during the handshake, or did not fit into its query.
    for (String channel : unrequested) write("type", "join", "channel", channel);
    for (String channel : requested)
      if (!channels.contains(channel)) write("type", "leave", "channel", channel);
    boolean recovered = !reconnected || (isRecovered && unrequested.isEmpty());
    String connectionId = textOf(frame, "connectionId");
    String userId = textOf(frame, "userId");
    String transport = link == null ? "" : link.transport();
    tell(() -> listener.onOpen(new PushOpened(connectionId, userId, reconnected, recovered, transport)));
  }

  /** The heartbeats of an event stream are seen here; those of a WebSocket are not. */
  private Duration quietIn(Map<String, Object> welcome) {
    boolean isStream = welcome.containsKey("stream");
    double ping = isStream && welcome.get("pingIntervalMs") instanceof Double millis ? 1.5 * millis : 0;
    return Duration.ofMillis(Math.max(options.heartbeatInterval.toMillis(), (long) ping));
  }

  private void deliver(Map<String, Object> frame) {
    position = textOf(frame, "position");
    long ts = frame.get("ts") instanceof Double number ? number.longValue() : 0;
    String targetType = textOf(frame, "targetType");
    String target = textOf(frame, "target");
    PushMessage message =
        new PushMessage(textOf(frame, "id"), targetType, target, textOf(frame, "data"), ts);
    tell(() -> listener.onMessage(message));
    keep(position);
    if (Boolean.TRUE.equals(frame.get("ack"))) write("type", "ack", "id", message.id());
  }

  private void member(Map<String, Object> frame, boolean joined) {
    PushMember member = new PushMember(joined, textOf(frame, "channel"), textOf(frame, "userId"));
    tell(() -> listener.onMember(member));
  }

  /** The gateway needs a new code for this connection. Without one it ends, and the client connects again. */
  private void refresh() {
    requestCode(
        attempt,
        code -> {
          if (code != null) write("type", "refresh", "code", code);
        },
        failure -> {}); // The next attempt reports it.
  }

  private void problem(Map<String, Object> frame) {
    String channel = frame.get("channel") instanceof String name ? name : null;
    channels.remove(channel); // Otherwise each reconnect would request it again.
    keep(position);
    tell(() -> listener.onProblem(new PushProblem(textOf(frame, "code"), textOf(frame, "message"), channel)));
  }

  private void lost(int current, int code, String reason) {
    if (current != attempt) return;
    attempt++;
    dropLink();
    String text = reason.isEmpty() ? "the connection ended (" + code + ")" : reason;
    Duration delay = pauses.after(code);
    if (delay == null) {
      end(text, code);
      return;
    }
    restartTimer(delay, this::connect);
    setStatus(PushStatus.State.WAITING, text, code, delay);
  }

  private void end(String reason, Integer code) {
    attempt++;
    dropLink();
    if (status.state() != PushStatus.State.CLOSED)
      setStatus(PushStatus.State.CLOSED, reason, code == null ? status.closeCode() : code, null);
  }

  private void dropLink() {
    if (timer != null) timer.cancel(false);
    Link dropped = link;
    link = null;
    if (dropped != null) dropped.close();
  }

  private void watchHeartbeat(int current) {
    Duration limit = quiet.plus(options.heartbeatTimeout);
    restartTimer(
        quiet,
        () -> {
          if (link != null) link.send(options.heartbeatContent);
          String reason = "nothing received for " + limit.toMillis() + " ms";
          restartTimer(options.heartbeatTimeout, () -> lost(current, 4201, reason));
        });
  }

  /** The place to resume from, for this process and for the next one. */
  private void keep(String reached) {
    position = reached;
    if (reached != null) session.write(reached, channels);
  }

  private boolean write(String... namesAndValues) {
    Link current = link;
    boolean isOpen = current != null && status.state() == PushStatus.State.OPEN;
    return isOpen && current.send(Json.texts(namesAndValues));
  }

  private void restartTimer(Duration delay, Runnable then) {
    if (timer != null) timer.cancel(false);
    timer = thread.schedule(then, delay.toNanos(), TimeUnit.NANOSECONDS);
  }

  private void setStatus(PushStatus.State state, String reason, Integer closeCode, Duration delay) {
    PushStatus next = new PushStatus(state, reason, closeCode, delay);
    status = next;
    tell(() -> listener.onStatus(next));
  }

  /** A listener that throws does not stop reconnects. */
  private static void tell(Runnable report) {
    try {
      report.run();
    } catch (RuntimeException error) {
      Thread current = Thread.currentThread();
      current.getUncaughtExceptionHandler().uncaughtException(current, error);
    }
  }

  private static String textOf(Map<String, Object> frame, String name) {
    Object value = frame.get(name);
    return value == null ? "" : value.toString();
  }

  private static ScheduledThreadPoolExecutor daemon(String name) {
    ScheduledThreadPoolExecutor executor =
        new ScheduledThreadPoolExecutor(
            1,
            work -> {
              Thread thread = new Thread(work, name);
              thread.setDaemon(true);
              return thread;
            });
    executor.setKeepAliveTime(10, TimeUnit.SECONDS);
    executor.allowCoreThreadTimeOut(true);
    executor.setRemoveOnCancelPolicy(true);
    return executor;
  }
}
