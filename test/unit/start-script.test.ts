import { describe, expect, test } from "bun:test";
import { classifyStart } from "../../src/model/stage/start-script.ts";

const command = (text: string) => ({ kind: "command", command: text }) as const;

test.each(["", "   ", "\n\t\n", "\r\n"])("a script without text is nothing: %j", (script) => {
  expect(classifyStart(script)).toEqual({ kind: "empty" });
});

test.each([
  "systemctl restart shop",
  "sudo systemctl restart shop.service && systemctl is-active shop",
  "docker run -d --name shop -p 8080:80 shop:1",
  "docker compose up --detach --remove-orphans",
  "docker rm --force shop 2>/dev/null || true\ndocker run --detach --name shop shop:1",
  "echo a && echo b",
  "echo a || echo b; echo c",
  "cat a | grep b |& tee c",
  "make start > start.log 2>&1",
  "make start &> start.log",
  "make start >& start.log",
  "make start &>> start.log",
  "exec 3<&0; cat <&3",
  "echo 'a & b'",
  'echo "a & b"',
  "echo a\\&b",
  "curl 'http://host/?a=1&b=2'",
  'curl "http://host/?a=1&b=$2"',
  "# node server.js &\nssh host systemctl restart shop",
  "echo done # and then &",
  "cat > unit <<'END'\nnode server.js &\nnohup x\nEND\nsystemctl restart shop",
  "cat > unit <<-END\n\tnode server.js &\n\tEND\nsystemctl restart shop",
  "cat <<A <<B\nx &\nA\ny &\nB\ntrue",
  "grep x <<< 'a & b'",
  "echo $((a & 1))",
  "((a & 1)) || true",
  "echo $(date)",
  'if [ -f a ]; then systemctl restart "$1"; fi',
  "# nothing here",
  "pm2 save",
  "nginx -s reload",
  "echo nohup setsid",
  'echo "open quote &',
  "start-stop-daemon --stop --pidfile shop.pid",
])("a script that runs to its end is a step: %j", (script) => {
  expect(classifyStart(script)).toEqual({ kind: "step" });
});

describe("one command in the background is a service", () => {
  test.each<[string, string]>([
    ["node server.js &", "node server.js"],
    ["  node server.js & \n\n", "node server.js"],
    ["# the server\nnode server.js & # stays\n", "node server.js"],
    ["node server.js &\r\n", "node server.js"],
    ["nohup node server.js &", "node server.js"],
    ["exec node server.js &", "node server.js"],
    ["setsid node server.js &", "node server.js"],
    ["nohup setsid node server.js &", "node server.js"],
    ["nohup node server.js > server.log 2>&1 &", "node server.js"],
    ["nohup node server.js >server.log 2>&1 </dev/null &", "node server.js"],
    ["node server.js &> server.log &", "node server.js"],
    ["node server.js >> out.log 2>> err.log &", "node server.js"],
    ["node server.js > /dev/null 2>&1 &", "node server.js"],
    ["> server.log 2>&1 node server.js &", "node server.js"],
    ["node server.js 2>&1 &", "node server.js 2>&1"],
    ["node server.js > access.log &", "node server.js > access.log"],
    ["node server.js 2>&1 > access.log &", "node server.js 2>&1 > access.log"],
    ["node server.js < input.txt &", "node server.js < input.txt"],
    ["PORT=80 NODE_ENV=production node server.js &", "PORT=80 NODE_ENV=production node server.js"],
    ["A=1 nohup node server.js &", "A=1 node server.js"],
    ["env A=1 node server.js &", "env A=1 node server.js"],
    ['java -jar "$(ls target/*.jar | head -n 1)" &', 'java -jar "$(ls target/*.jar | head -n 1)"'],
    ["npm run start -- --port 80 &", "npm run start -- --port 80"],
    ["node server.js \\\n  --port 80 &", "node server.js --port 80"],
    ["./serve 'a & b' &", "./serve 'a & b'"],
    ["python3 -m http.server --directory live 8080 &", "python3 -m http.server --directory live 8080"],
    ["docker run --rm -p 80:80 shop &", "docker run --rm -p 80:80 shop"],
  ])("%j", (script, text) => {
    expect(classifyStart(script)).toEqual(command(text));
    // As `stages` is written again in answers.
    expect(classifyStart(`${text} &`)).toEqual(command(text));
  });
});

test.each([
  "node a.js &\nnode b.js &",
  "node a.js & node b.js &",
  "node a.js & echo $! > pid",
  "node a.js & disown",
  "node a.js &\nsleep 1",
  "./migrate && node server.js &",
  "cd web\nnode server.js &",
  "cd web && nohup node server.js > log 2>&1 &",
  "node server.js | tee log &",
  "(cd web; node server.js) &",
  "{ node server.js; } &",
  "while true; do node server.js; done &",
  "pkill -f server.js; nohup node server.js >log 2>&1 &",
  "if [ -f a ]; then node server.js & fi",
  "run() { node server.js & }\nrun",
  "PID=$(node server.js & echo $!)",
  "nohup node server.js",
  "setsid node server.js",
  "setsid --fork node server.js &",
  "exec -a shop node server.js &",
  "node server.js 3> trace &",
  "node server.js >&- &",
  "node server.js << END &\ntext\nEND",
  "pm2 start ecosystem.config.js",
  "npx pm2 startOrReload app.json",
  "pm2 start a.js &",
  "forever start server.js",
  "start-stop-daemon --start --exec /srv/shop",
  "sudo /sbin/start-stop-daemon -S --exec /srv/shop",
  "gunicorn -D shop:app",
  "gunicorn --daemon shop:app",
  "redis-server --daemonize yes",
  "mongod --fork --logpath log",
  "screen -dmS shop node server.js",
  "tmux new-session -d node server.js",
  "docker run -d shop &",
  "cd web &",
  "wait &",
])("anything else that leaves processes is a script with a background: %j", (script) => {
  expect(classifyStart(script)).toEqual({ kind: "background" });
});
