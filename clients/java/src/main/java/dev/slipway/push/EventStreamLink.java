package dev.slipway.push;

import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.Flow;

/** Frames as server-sent events, and those of the client by POST, for networks that refuse WebSockets. */
final class EventStreamLink implements Link {
  private static final int MAX_UNSENT = 1000;
  /** Lines that may wait for the client. */
  private static final int MAX_UNREAD = 64;
  private final HttpClient client;
  private final Executor thread;
  private final Events events;
  private final String url;
  private final CompletableFuture<HttpResponse<Void>> response;
  private final StringBuilder data = new StringBuilder();
  private String eventName;
  /** Names the stream in requests. */
  private volatile String name = "";
  private volatile Flow.Subscription subscription;
  /** One request at a time keeps the order of frames. */
  private CompletableFuture<?> sending = CompletableFuture.completedFuture(null);

  private int unsent;
  private boolean isEnded;

  EventStreamLink(HttpClient client, Executor thread, String address, Events events) {
    this.client = client;
    this.thread = thread;
    this.events = events;
    String http = address.replaceFirst("^ws", "http").replaceFirst("/ws(?=\\?|$)", "/sse");
    url = http.replaceFirst("\\?.*", "");
    HttpRequest request = Http.request(http).header("Accept", "text/event-stream").GET().build();
    HttpResponse.BodyHandler<Void> handler =
        info ->
            info.statusCode() == 200
                ? HttpResponse.BodySubscribers.fromLineSubscriber(new Reader())
                : HttpResponse.BodySubscribers.replacing(null);
    response = client.sendAsync(request, handler);
    response.whenComplete((answer, failure) -> thread.execute(() -> fail(1006, reasonOf(answer, failure))));
  }

  private static String reasonOf(HttpResponse<Void> answer, Throwable failure) {
    if (failure != null) return String.valueOf(failure.getMessage());
    return answer.statusCode() == 200 ? "the stream ended" : "the gateway answered " + answer.statusCode();
  }

  @Override
  public String transport() {
    return "sse";
  }

  @Override
  public synchronized boolean send(String text) {
    if (unsent >= MAX_UNSENT) return false;
    unsent++;
    sending = sending.thenCompose(ignored -> post(text)).whenComplete((done, failure) -> sent());
    return true;
  }

  private synchronized void sent() {
    unsent--;
  }

  /** A frame that is not accepted ends the connection, as on a WebSocket: the client joins its channels again. */
  private CompletableFuture<?> post(String text) {
    String address = url + "?stream=" + URLEncoder.encode(name, StandardCharsets.UTF_8);
    HttpRequest.BodyPublisher body = HttpRequest.BodyPublishers.ofString(text);
    HttpRequest request = Http.request(address).header("Content-Type", "application/json").POST(body).build();
    return client
        .sendAsync(request, HttpResponse.BodyHandlers.discarding())
        .handle(
            (answer, failure) -> {
              int status = answer == null ? 0 : answer.statusCode();
              if (status / 100 == 2) return null;
              String reason = failure == null ? "a frame was answered with " + status : failure.getMessage();
              thread.execute(() -> fail(status == 413 ? 1009 : 1006, String.valueOf(reason)));
              return null;
            });
  }

  @Override
  public void close() {
    isEnded = true;
    Flow.Subscription reading = subscription;
    if (reading != null) reading.cancel();
    response.cancel(true);
  }

  private void fail(int code, String reason) {
    if (isEnded) return;
    close();
    events.closed(code, reason);
  }

  /** An empty line ends an event. */
  private void line(String line) {
    if (line.startsWith("event: ")) eventName = line.substring(7);
    else if (line.startsWith("data: ")) data.append(data.isEmpty() ? "" : "\n").append(line, 6, line.length());
    else if (line.isEmpty()) {
      String text = data.toString();
      boolean isEnd = eventName != null;
      data.setLength(0);
      eventName = null;
      if (isEnd) end(Json.object(text));
      else if (!text.isEmpty()) frame(text);
    }
  }

  private void frame(String text) {
    if (name.isEmpty() && Json.object(text).get("stream") instanceof String given) name = given;
    events.frame(text);
  }

  private void end(Map<String, Object> fields) {
    Object code = fields.containsKey("closeCode") ? fields.get("closeCode") : fields.get("code");
    fail(code instanceof Double number ? number.intValue() : 1006, String.valueOf(fields.get("reason")));
  }

  /** Reads ahead of the client by a limited number of lines. */
  private final class Reader implements Flow.Subscriber<String> {
    @Override
    public void onSubscribe(Flow.Subscription given) {
      subscription = given;
      given.request(MAX_UNREAD);
    }

    @Override
    public void onNext(String line) {
      thread.execute(
          () -> {
            if (!isEnded) line(line);
            subscription.request(1);
          });
    }

    @Override
    public void onError(Throwable error) {} // The response reports it.

    @Override
    public void onComplete() {}
  }
}
