package dev.slipway.example;

import feign.RequestInterceptor;
import java.util.List;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.cloud.openfeign.FeignClient;
import org.springframework.context.annotation.Bean;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;

@FeignClient(name = "push", url = "${push.url}", configuration = PushClient.Key.class)
public interface PushClient {
  @PostMapping(value = "/feign/publish", consumes = "application/json")
  Envelope<String> publish(@RequestBody PublishRequest request);

  @GetMapping("/feign/getOnlineUsers")
  Envelope<List<String>> getOnlineUsers();

  record PublishRequest(String targetType, String target, String data) {}

  record Envelope<T>(int code, boolean successful, String msg, T data, boolean encrypt) {}

  /** Sends the key of push.api-keys, if the gateway has some. */
  class Key {
    @Bean
    RequestInterceptor pushKey(@Value("${push.key}") String key) {
      return template -> {
        if (!key.isEmpty()) template.header("X-API-Key", key);
      };
    }
  }
}
