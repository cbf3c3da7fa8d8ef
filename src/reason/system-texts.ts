/** What an administrator of the server should change, by stable code: warnings of the start and of the broker. */
export const systemTexts = {
  system_connections:
    "push.max-connections is lowered to {limit}: the open-file limit of this process allows no more (ulimit -n).",
  system_deploy_key:
    "push.deploy-key is not set: every admitted caller of /feign that sends X-Slipway-Service: deploy may act on the console's channels and users. Set push.deploy-key here, and the same value as deploy.push.apiKey of the deploy service; without a deploy service, set any secret value.",
  system_workers:
    "push.workers has no effect in `start`, which is one process: run `slipway push` and `slipway deploy` instead.",
  system_vanished_late:
    "This system does not let Slipway limit unacknowledged bytes: a user whose event stream vanished without a close stays online for minutes.",
  system_key_file: "The key file {file} can be read by others; run chmod 600 {file}",
  system_no_api_keys:
    "push.api-keys is empty although the server listens beyond loopback: only push.internal-networks may call /feign.",
  system_no_proxies:
    "server.baseUrl is set and server.trustedProxies is empty: behind a proxy all clients have its address, and the limits of sign-ins and connections count all clients as one. Name the proxy, for example server.trustedProxies: [127.0.0.1/32].",
  system_not_isolated:
    "Scripts are not isolated on {runners}: users who manage a project without being admins can read what the runner's user can read (docs/security.md).",
  system_no_base_url: "server.baseUrl is not set: webhook addresses can be reached only from this machine.",
  system_replicas:
    "The Kafka topic {topic} has {count} of the {wanted} replicas that {brokers} brokers allow: the loss of a broker can stop the push gateway or lose messages. Add replicas: {commands}",
} as const;
