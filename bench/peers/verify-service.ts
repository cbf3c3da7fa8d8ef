/** The application's side of a handshake: any code is good, and is its user's name, but for those that begin with `bad`. */
const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch(request) {
    const code = /[?&]code=([^&]*)/.exec(request.url)?.[1] ?? "";
    if (code.startsWith("bad"))
      return Response.json({ code: 40102, successful: false, message: "no such code" });
    return Response.json({ code: 0, successful: true, msg: null, data: code, encrypt: false });
  },
});
console.log(`ready at http://127.0.0.1:${server.port}`);
