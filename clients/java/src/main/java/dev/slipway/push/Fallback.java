package dev.slipway.push;

import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * Uses WebSockets, and event streams while the network passes on plain requests and refuses upgrades. A gateway that is
 * away, or that refuses the attempt itself, is no reason for a stream. Everything runs on the thread of the client.
 */
final class Fallback {
  /** Finds the address of another connection of the same user, with a new code; null: there is none now. */
  interface Renewal {
    void address(Consumer<String> found);
  }

  /** After so many upgrades in a row that were refused while plain requests reach the gateway, a stream is used. */
  private static final int MAX_REFUSED = 2;

  private static final Duration MAX_PAUSE = Duration.ofMinutes(10);
  /** So long after a connection the network surely passes upgrades: clients of a gateway that restarts ask nothing. */
  private static final long SURELY_PASSES_NANOS = TimeUnit.SECONDS.toNanos(30);
  /** The next attempt waits for the explanation. */
  private static final Duration EXPLAIN_WITHIN = Duration.ofSeconds(2);

  private final HttpClient client;
  private final ScheduledExecutorService thread;
  private final PushOptions options;
  private int refused;
  private Duration pause;
  private Long workedAt;

  Fallback(HttpClient client, ScheduledExecutorService thread, PushOptions options) {
    this.client = client;
    this.thread = thread;
    this.options = options;
    pause = options.upgradeRetry;
  }

  Link connect(String address, Renewal renewal, Link.Events events) {
    return refused < MAX_REFUSED
        ? webSocket(address, new Upgrade(events))
        : new Stream(address, renewal, events);
  }

  private WebSocketLink webSocket(String address, Link.Events events) {
    return new WebSocketLink(client, thread, address, options.connectTimeout, events);
  }

  private void worked() {
    refused = 0;
    pause = options.upgradeRetry;
    workedAt = System.nanoTime();
  }

  /** Whether a plain request reaches the gateway, and it would accept an upgrade now. */
  private CompletableFuture<Boolean> serves() {
    HttpRequest question =
        Http.request(options.url)
            .timeout(EXPLAIN_WITHIN)
            .POST(HttpRequest.BodyPublishers.noBody())
            .build();
    return client
        .sendAsync(question, HttpResponse.BodyHandlers.discarding())
        .handle(
            (answer, failure) ->
                answer != null
                    && answer.statusCode() == 426
                    && answer.headers().firstValue("x-push-refusal").isEmpty());
  }

  /** The reports of a WebSocket. Why it did not open is found out before the client hears of it. */
  private final class Upgrade implements Link.Events {
    private final Link.Events events;
    private boolean isOpen;
    private boolean isEnded;

    Upgrade(Link.Events events) {
      this.events = events;
    }

    @Override
    public void frame(String text) {
      if (!isOpen) worked();
      isOpen = true;
      events.frame(text);
    }

    @Override
    public void closed(int code, String reason) {
      if (isEnded) return;
      isEnded = true;
      if (isOpen) worked();
      boolean surelyPasses = workedAt != null && System.nanoTime() - workedAt < SURELY_PASSES_NANOS;
      // With 4000 and above the gateway has said why.
      if (code >= 4000 || surelyPasses) events.closed(code, reason);
      else serves().thenAccept(serves -> thread.execute(() -> explained(serves, code, reason)));
    }

    private void explained(boolean serves, int code, String reason) {
      if (serves) refused++;
      events.closed(code, reason);
    }
  }

  /**
   * An event stream, beside which a WebSocket is tried after longer and longer pauses. When it works, the stream ends as
   * that of a server which restarts: the client connects again and resumes.
   */
  private final class Stream implements Link, Link.Events {
    private final Renewal renewal;
    private final Link.Events events;
    private final Link link;
    private Link trial;
    private ScheduledFuture<?> timer;
    private boolean isOpen;
    private boolean isEnded;

    Stream(String address, Renewal renewal, Link.Events events) {
      this.renewal = renewal;
      this.events = events;
      link = new EventStreamLink(client, thread, address, this);
    }

    @Override
    public String transport() {
      return link.transport();
    }

    @Override
    public boolean send(String text) {
      return link.send(text);
    }

    @Override
    public void close() {
      isEnded = true;
      if (timer != null) timer.cancel(false);
      if (trial != null) trial.close();
      link.close();
    }

    @Override
    public void frame(String text) {
      if (!isOpen) tryLater();
      isOpen = true;
      events.frame(text);
    }

    /** With 4100 the gateway refuses attempts of either kind; otherwise both are tried in turns. */
    @Override
    public void closed(int code, String reason) {
      if (!isOpen) refused = code == 4100 ? 0 : MAX_REFUSED - 1;
      close();
      events.closed(code, reason);
    }

    private void tryLater() {
      if (isEnded) return;
      timer = thread.schedule(() -> renewal.address(this::tryUpgrade), pause.toMillis(), TimeUnit.MILLISECONDS);
      Duration doubled = pause.multipliedBy(2);
      pause = doubled.compareTo(MAX_PAUSE) < 0 ? doubled : MAX_PAUSE;
    }

    private void tryUpgrade(String address) {
      if (isEnded) return;
      if (address == null) tryLater();
      else trial = webSocket(address, new Trial());
    }

    private final class Trial implements Link.Events {
      private boolean isOver;

      @Override
      public void frame(String text) {
        if (isEnded) return;
        worked();
        close();
        events.closed(1012, "WebSocket works again");
      }

      @Override
      public void closed(int code, String reason) {
        if (isOver) return;
        isOver = true;
        tryLater();
      }
    }
  }
}
