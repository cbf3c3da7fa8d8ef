package dev.slipway.push;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** The adapter of the Java client for the conformance cases: see docs/clients.md. */
final class Conformance {
  private static final PrintStream OUT = new PrintStream(System.out, true, StandardCharsets.UTF_8);

  public static void main(String[] args) throws IOException {
    Map<String, Object> options = Json.object(args[0]);
    HttpClient http = HttpClient.newHttpClient();
    HttpRequest codeRequest =
        HttpRequest.newBuilder(URI.create((String) options.get("codeUrl")))
            .POST(HttpRequest.BodyPublishers.noBody())
            .build();
    CodeProvider code =
        () -> {
          var answer = http.send(codeRequest, HttpResponse.BodyHandlers.ofString());
          if (answer.statusCode() == 204) return null;
          if (answer.statusCode() != 200) throw new IOException("status " + answer.statusCode());
          return answer.body();
        };
    PushOptions settings =
        new PushOptions((String) options.get("url"), code)
            .temporary(Boolean.TRUE.equals(options.get("temporary")))
            .delays(duration(options, "minDelayMs", 1000), duration(options, "maxDelayMs", 30_000))
            .connectTimeout(duration(options, "connectTimeoutMs", 15_000))
            .heartbeat(
                duration(options, "heartbeatIntervalMs", 25_000),
                duration(options, "heartbeatTimeoutMs", 10_000),
                "ping")
            .upgradeRetry(duration(options, "upgradeRetryMs", 30_000))
            .resumeKey((String) options.get("resumeKey"))
            .sessionStore(new FileSessionStore(Path.of((String) options.get("stateFolder"))));
    if (options.get("channels") instanceof List<?> names)
      settings.channels(names.stream().map(String::valueOf).toArray(String[]::new));
    SlipwayPush push = new SlipwayPush(settings, new Printer());
    push.open();
    BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = commands.readLine(); line != null; line = commands.readLine())
      obey(push, Json.object(line));
    push.close();
  }

  private static void obey(SlipwayPush push, Map<String, Object> command) {
    if (command.get("send") instanceof String data) {
      write("sent", "\"sent\":" + push.send(data));
      return;
    }
    if (command.get("join") instanceof String channel) push.join(channel);
    if (command.get("leave") instanceof String channel) push.leave(channel);
    if (command.containsKey("close")) push.close();
    write("done", "\"ok\":true");
  }

  private static Duration duration(Map<String, Object> options, String name, long usual) {
    return Duration.ofMillis(options.get(name) instanceof Double value ? value.longValue() : usual);
  }

  private static void write(String event, String fields) {
    OUT.println("{\"event\":\"" + event + "\"," + fields + "}");
  }

  /** The inside of a JSON object of texts. */
  private static String texts(String... namesAndValues) {
    String object = Json.texts(namesAndValues);
    return object.substring(1, object.length() - 1);
  }

  private static final class Printer implements PushListener {
    @Override
    public void onMessage(PushMessage m) {
      String fields =
          texts("id", m.id(), "targetType", m.targetType(), "target", m.target(), "data", m.data());
      write("message", fields + ",\"ts\":" + m.ts());
    }

    @Override
    public void onOpen(PushOpened opened) {
      String fields =
          texts("connectionId", opened.connectionId(), "userId", opened.userId())
              + (",\"reconnected\":" + opened.reconnected())
              + (",\"recovered\":" + opened.recovered() + ",");
      write("open", fields + texts("transport", opened.transport()));
    }

    @Override
    public void onStatus(PushStatus status) {
      String state = status.state().name().toLowerCase(Locale.ROOT);
      Long delayMs = status.delay() == null ? null : status.delay().toMillis();
      String fields = texts("state", state, "reason", status.reason());
      write("status", fields + ",\"closeCode\":" + status.closeCode() + ",\"delayMs\":" + delayMs);
    }

    @Override
    public void onJoined(String channel) {
      write("joined", texts("channel", channel));
    }

    @Override
    public void onLeft(String channel) {
      write("left", texts("channel", channel));
    }

    @Override
    public void onMember(PushMember m) {
      String type = m.joined() ? "joined" : "left";
      write("member", texts("type", type, "channel", m.channel(), "userId", m.userId()));
    }

    @Override
    public void onProblem(PushProblem p) {
      String channel = p.channel() == null ? "null" : Json.quoted(p.channel());
      write("problem", texts("code", p.code(), "message", p.message()) + ",\"channel\":" + channel);
    }
  }
}
