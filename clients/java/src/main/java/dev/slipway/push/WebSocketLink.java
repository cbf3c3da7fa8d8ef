package dev.slipway.push;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.WebSocket;
import java.net.http.WebSocketHandshakeException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/** Frames over a WebSocket. */
final class WebSocketLink implements Link {
  private static final String PROTOCOL = "slipway.v1";
  private static final int MAX_UNSENT = 1000;
  /** Frames that may wait for the client. */
  private static final int MAX_UNREAD = 64;
  private static final int MAX_FRAME_CHARS = 64 * 1024 * 1024;
  private final ScheduledExecutorService thread;
  private final Events events;
  private final CompletableFuture<WebSocket> socket;
  /** The JDK takes one text at a time. */
  private CompletableFuture<?> sending;

  private int unsent;
  private ScheduledFuture<?> probe;

  WebSocketLink(HttpClient client, ScheduledExecutorService thread, String url, Duration timeout, Events events) {
    this.thread = thread;
    this.events = events;
    socket =
        client
            .newWebSocketBuilder()
            .subprotocols(PROTOCOL)
            .connectTimeout(timeout)
            .buildAsync(URI.create(url), new Reader());
    sending = socket;
    socket.whenComplete(
        (opened, failure) -> {
          if (failure != null) thread.execute(() -> refused(failure));
        });
  }

  @Override
  public String transport() {
    return "websocket";
  }

  @Override
  public boolean send(String text) {
    return enqueue(opened -> opened.sendText(text, true));
  }

  private synchronized boolean enqueue(Function<WebSocket, CompletableFuture<WebSocket>> send) {
    if (unsent >= MAX_UNSENT) return false;
    unsent++;
    sending = sending.thenCompose(ignored -> send.apply(socket.join())).whenComplete(this::sent);
    return true;
  }

  private synchronized void sent(Object ignored, Throwable failure) {
    unsent--;
    if (failure != null) thread.execute(() -> events.closed(1006, String.valueOf(failure.getMessage())));
  }

  /**
   * The JDK does not report the end of a connection that is cut while a frame is handed over. So a second and two seconds
   * after the last frame a pong is sent, which nobody answers: one of them fails if the connection is gone.
   */
  private void probe(int count) {
    if (probe != null) probe.cancel(false);
    Runnable send =
        () -> {
          enqueue(opened -> opened.sendPong(ByteBuffer.allocate(0)));
          if (count > 1) probe(count - 1);
        };
    probe = thread.schedule(send, 1, TimeUnit.SECONDS);
  }

  @Override
  public void close() {
    if (probe != null) probe.cancel(false);
    socket.thenAccept(
        opened ->
            opened.sendClose(WebSocket.NORMAL_CLOSURE, "").whenComplete((done, failure) -> opened.abort()));
  }

  private void refused(Throwable failure) {
    Throwable cause = failure instanceof CompletionException ? failure.getCause() : failure;
    if (cause instanceof WebSocketHandshakeException handshake) {
      int status = handshake.getResponse().statusCode();
      boolean isFromGateway = handshake.getResponse().headers().firstValue("x-push-refusal").isPresent();
      String reason = "the handshake was answered with status " + status;
      events.closed(CloseRule.closeCodeOf(status, isFromGateway), reason);
    } else events.closed(1006, String.valueOf(cause.getMessage()));
  }

  /** Reads ahead of the client by a limited number of frames. */
  private final class Reader implements WebSocket.Listener {
    private final StringBuilder partial = new StringBuilder();

    @Override
    public void onOpen(WebSocket opened) {
      opened.request(MAX_UNREAD);
    }

    @Override
    public CompletionStage<?> onText(WebSocket from, CharSequence data, boolean last) {
      if (partial.length() + data.length() > MAX_FRAME_CHARS) {
        from.abort();
        return onClose(from, 1009, "a message is too large");
      }
      partial.append(data);
      if (!last) {
        from.request(1);
        return null;
      }
      String text = partial.toString();
      partial.setLength(0);
      thread.execute(
          () -> {
            events.frame(text);
            probe(2);
            from.request(1);
          });
      return null;
    }

    @Override
    public CompletionStage<?> onClose(WebSocket from, int code, String reason) {
      thread.execute(() -> events.closed(code, reason));
      return null;
    }

    @Override
    public void onError(WebSocket from, Throwable error) {
      thread.execute(() -> events.closed(1006, String.valueOf(error.getMessage())));
    }
  }
}
