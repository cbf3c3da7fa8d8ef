package dev.slipway.example;

import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.http.HttpStatus;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

@RestController
public class PushController {
  private final PushClient push;
  private final String publicUrl;
  /** The user of each code that was not used yet. A real service lets codes expire. */
  private final Map<String, String> codes = new ConcurrentHashMap<>();

  public PushController(PushClient push, @Value("${push.public-url}") String publicUrl) {
    this.push = push;
    this.publicUrl = publicUrl;
  }

  /** The page asks where to connect. */
  @GetMapping("/push-url")
  public String pushUrl() {
    return publicUrl + "/ws";
  }

  /** The page asks for a code, before each attempt. A real service takes the user from its session. */
  @PostMapping("/push-code")
  public String pushCode(@RequestParam String user) {
    String code = UUID.randomUUID().toString();
    codes.put(code, user);
    return code;
  }

  /** The gateway asks for the user of a code (push.verify-uri). A code is valid once. */
  @GetMapping("/verify")
  public ResponseEntity<Map<String, String>> verify(@RequestParam String code) {
    String userId = codes.remove(code);
    if (userId == null) return ResponseEntity.status(HttpStatus.UNAUTHORIZED).build();
    return ResponseEntity.ok(Map.of("userId", userId));
  }

  /** Something happened that a user should know. */
  @PostMapping("/notify")
  public PushClient.Envelope<String> publish(@RequestParam String user, @RequestBody String text) {
    return push.publish(new PushClient.PublishRequest("user", user, text));
  }

  @GetMapping("/online")
  public List<String> online() {
    return push.getOnlineUsers().data();
  }
}
