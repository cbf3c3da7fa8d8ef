/** Verifies codes: each code is the name of its user, except for codes that start with `bad`, which are refused. */
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
