package dev.slipway.push;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;

/** Plain requests to the gateway. */
final class Http {
  /** On a connection without TLS, HTTP/2 would ask for an upgrade, which a proxy may refuse. */
  static HttpRequest.Builder request(String address) {
    URI uri = URI.create(address.replaceFirst("^ws", "http"));
    return HttpRequest.newBuilder(uri).version(HttpClient.Version.HTTP_1_1);
  }

  private Http() {}
}
