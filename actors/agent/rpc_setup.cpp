#include "actors/agent/rpc_setup.hpp"

#include <chrono>

#include <fmt/format.h>

#include "actors/rpc/node_caller.hpp"

namespace nomad::agent {

namespace {

net::TlsOptions tls_options(const config::Tls& tls, bool verify_incoming) {
  net::TlsOptions options;
  options.ca_file = tls.ca_file;
  options.cert_file = tls.cert_file;
  options.key_file = tls.key_file;
  options.verify_incoming = verify_incoming;
  options.prefer_server_cipher_suites = tls.prefer_server_cipher_suites;
  options.min_version = tls.min_version;
  return options;
}

/// `own` of the ports' addresses, else `bind_addr`.
std::string address_of(const config::AgentConfig& config,
                       const std::string& own,
                       std::int64_t port) {
  return with_port(own.empty() ? config.bind_addr : own, port);
}

}  // namespace

std::string with_port(const std::string& host, std::int64_t port) {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port)
                                             : fmt::format("[{}]:{}", host, port);
}

bool proves_roles(const config::AgentConfig& config) {
  return config.tls.rpc && config.tls.verify_server_hostname;
}

Result<std::shared_ptr<net::TlsContext>> http_certificates(const config::AgentConfig& config) {
  if (!config.tls.http) return std::shared_ptr<net::TlsContext>{};
  return net::TlsContext::make(tls_options(config.tls, config.tls.verify_https_client));
}

Result<std::shared_ptr<net::TlsContext>> rpc_certificates(const config::AgentConfig& config) {
  if (!config.tls.rpc) return std::shared_ptr<net::TlsContext>{};
  return net::TlsContext::make(tls_options(config.tls, true));
}

net::RpcOptions rpc_options(const config::AgentConfig& config,
                            net::RpcRole role,
                            const std::string& name,
                            std::shared_ptr<net::TlsContext> certificates) {
  net::RpcOptions options;
  options.hello.role = role;
  options.hello.region = config.region;
  options.hello.name = name;
  options.tls = std::move(certificates);
  options.verify_role = config.tls.verify_server_hostname;
  options.connections_per_address = static_cast<unsigned>(config.limits.rpc_max_conns_per_client);
  options.handshake_timeout
      = std::chrono::duration_cast<std::chrono::milliseconds>(config.limits.rpc_handshake_timeout);
  return options;
}

MakeLink listening(const actor::Owner& owner,
                   const config::AgentConfig& config,
                   const std::string& name,
                   const AgentLinks& links) {
  rpc::TcpTransportOptions options;
  options.listen = address_of(config, config.addresses.rpc, config.ports.rpc);
  // Where those look for a server who join it by the port of Nomad's gossip.
  if (config.ports.serf != 0)
    options.also_listen = address_of(config, config.addresses.serf, config.ports.serf);
  options.network = rpc_options(config, net::RpcRole::server, name, links.certificates);
  options.network.kept_users = links.kept_users;
  return [owner, options](std::shared_ptr<const rpc::MethodRouter> router) -> Result<Link> {
    auto started = NOMAD_TRY(rpc::TcpTransport::start(owner, options, std::move(router)));
    const auto transport = std::make_shared<rpc::TcpTransport>(std::move(started));
    return Link{transport->handle(), transport->address(), [transport] { transport->stop(); }};
  };
}

Result<rpc::TcpTransport> start_dialer(const actor::Owner& owner,
                                       const config::AgentConfig& config,
                                       const AgentLinks& links,
                                       std::shared_ptr<access::Authenticator> authenticator) {
  const auto router = std::make_shared<rpc::MethodRouter>(config.region, std::move(authenticator));
  if (proves_roles(config)) router->require_proof();
  links.requests.add_to_client(*router);
  rpc::serve_node_questions(*router, rpc::Method::node_question,
                            std::make_shared<actor::Asker>(owner, 1), links.node);
  rpc::TcpTransportOptions options;
  options.network = rpc_options(config, net::RpcRole::client, config.name, links.certificates);
  options.network.threads = 1;
  return rpc::TcpTransport::start(owner, std::move(options), router);
}

}  // namespace nomad::agent
