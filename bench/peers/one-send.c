/*
 * The limit that fan-out is measured against: one thread, epoll, one send() per socket and message, nothing else.
 * Speaks just enough HTTP and WebSocket for the benchmarks: GET (any path) upgrades, POST (any path) sends the "data"
 * string of its JSON body, up to 64 KiB and without escapes, to every socket. It keeps no queue: a socket that cannot
 * take a frame loses it, which the load generator would see as missing bytes.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MAX_FDS = 65536, REQUEST_BYTES = 70000, MAX_EVENTS = 1024 };

struct request {
  char *text;
  int length;
};

static struct request requests[MAX_FDS];
static int sockets[MAX_FDS], place[MAX_FDS], socket_count;

static uint32_t rotate(uint32_t value, int bits) { return value << bits | value >> (32 - bits); }

static void sha1_block(uint32_t state[5], const unsigned char *block) {
  uint32_t w[80], a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
  for (int i = 0; i < 16; i++)
    w[i] = (uint32_t)block[4 * i] << 24 | block[4 * i + 1] << 16 | block[4 * i + 2] << 8 | block[4 * i + 3];
  for (int i = 16; i < 80; i++) w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
  for (int i = 0; i < 80; i++) {
    uint32_t f = i < 20 ? (b & c) | (~b & d) : i < 40 ? b ^ c ^ d : i < 60 ? (b & c) | (b & d) | (c & d) : b ^ c ^ d;
    uint32_t k = i < 20 ? 0x5a827999 : i < 40 ? 0x6ed9eba1 : i < 60 ? 0x8f1bbcdc : 0xca62c1d6;
    uint32_t next = rotate(a, 5) + f + e + k + w[i];
    e = d, d = c, c = rotate(b, 30), b = a, a = next;
  }
  state[0] += a, state[1] += b, state[2] += c, state[3] += d, state[4] += e;
}

/* The answer to a Sec-WebSocket-Key, which is always 24 characters: base64(sha1(key + GUID)). */
static void accept_key(const char *key, char out[29]) {
  unsigned char block[128] = {0};
  memcpy(block, key, 24);
  memcpy(block + 24, "258EAFA5-E914-47DA-95CA-C5AB0DC85B11", 36);
  block[60] = 0x80;
  block[126] = 60 * 8 >> 8, block[127] = 60 * 8 & 255;
  uint32_t state[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  sha1_block(state, block);
  sha1_block(state, block + 64);
  unsigned char hash[21] = {0};
  for (int i = 0; i < 20; i++) hash[i] = state[i / 4] >> (24 - 8 * (i % 4));
  static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (int i = 0, o = 0; i < 21; i += 3) {
    uint32_t three = hash[i] << 16 | hash[i + 1] << 8 | hash[i + 2];
    for (int shift = 18; shift >= 0; shift -= 6) out[o++] = letters[three >> shift & 63];
  }
  out[27] = '=', out[28] = 0;
}

static void drop(int fd) {
  if (place[fd] > 0) {
    int last = sockets[--socket_count];
    sockets[place[fd] - 1] = last;
    place[last] = place[fd];
    place[fd] = 0;
  }
  requests[fd].length = 0;
  close(fd);
}

static void upgrade(int fd, const char *text) {
  const char *key = strcasestr(text, "sec-websocket-key: ");
  if (!key) return drop(fd);
  char accepted[29], answer[256];
  accept_key(key + 19, accepted);
  int length = snprintf(answer, sizeof answer,
                        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                        "Sec-WebSocket-Accept: %s\r\n\r\n",
                        accepted);
  send(fd, answer, length, MSG_NOSIGNAL);
  sockets[socket_count++] = fd;
  place[fd] = socket_count;
}

static void publish(int fd, const char *body) {
  static char frame[REQUEST_BYTES];
  const char *data = strstr(body, "\"data\":\"");
  const char *end = data ? strchr(data + 8, '"') : NULL;
  if (!end) return drop(fd);
  int length = end - (data + 8), head = length < 126 ? 2 : 4;
  frame[0] = (char)0x81;
  frame[1] = length < 126 ? length : 126;
  if (head == 4) frame[2] = length >> 8, frame[3] = length & 255;
  memcpy(frame + head, data + 8, length);
  for (int i = 0; i < socket_count; i++) send(sockets[i], frame, head + length, MSG_NOSIGNAL | MSG_DONTWAIT);
  static const char answer[] =
      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 68\r\n\r\n"
      "{\"code\":0,\"successful\":true,\"msg\":null,\"data\":\"ok\",\"encrypt\":false}\n";
  send(fd, answer, sizeof answer - 1, MSG_NOSIGNAL);
}

/* Handles every whole request that has arrived. */
static void handle(int fd) {
  struct request *request = &requests[fd];
  for (;;) {
    request->text[request->length] = 0;
    char *head_end = strstr(request->text, "\r\n\r\n");
    if (!head_end) return;
    const char *length_header = strcasestr(request->text, "content-length: ");
    int body = length_header && length_header < head_end ? atoi(length_header + 16) : 0;
    int whole = head_end + 4 - request->text + body;
    if (request->length < whole) return;
    if (request->text[0] == 'G') upgrade(fd, request->text);
    else publish(fd, head_end + 4);
    if (request->length == 0) return;
    memmove(request->text, request->text + whole, request->length - whole);
    request->length -= whole;
  }
}

static void readable(int fd) {
  struct request *request = &requests[fd];
  if (!request->text) request->text = malloc(REQUEST_BYTES + 1);
  ssize_t got = recv(fd, request->text + request->length, REQUEST_BYTES - request->length, MSG_DONTWAIT);
  if (got < 0 && errno == EAGAIN) return;
  if (got <= 0) return drop(fd);
  if (place[fd] > 0) return; /* what clients send on a socket is read and thrown away */
  request->length += got;
  handle(fd);
}

int main(void) {
  int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, 4096)) return perror("listen"), 1;
  getsockname(listener, (struct sockaddr *)&address, &size);
  printf("ready at http://127.0.0.1:%d\n", ntohs(address.sin_port));
  fflush(stdout);
  int poll = epoll_create1(0);
  struct epoll_event event = {.events = EPOLLIN, .data.fd = listener}, events[MAX_EVENTS];
  epoll_ctl(poll, EPOLL_CTL_ADD, listener, &event);
  for (;;) {
    int count = epoll_wait(poll, events, MAX_EVENTS, -1);
    for (int i = 0; i < count; i++) {
      if (events[i].data.fd != listener) {
        readable(events[i].data.fd);
        continue;
      }
      int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
      if (fd < 0) continue;
      if (fd >= MAX_FDS) {
        close(fd);
        continue;
      }
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      event.data.fd = fd;
      epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event);
    }
  }
}
