#include "actors/agent/rpc_setup.hpp"

#include <chrono>

namespace nomad::agent {

Result<std::shared_ptr<net::TlsContext>> rpc_certificates(const config::AgentConfig& config) {
  if (!config.tls.rpc) return std::shared_ptr<net::TlsContext>{};
  return net::TlsContext::make(
      {.ca_file = config.tls.ca_file,
       .cert_file = config.tls.cert_file,
       .key_file = config.tls.key_file,
       .prefer_server_cipher_suites = config.tls.prefer_server_cipher_suites,
       .min_version = config.tls.min_version});
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

Result<rpc::TcpTransport> start_dialer(caf::actor_system& system,
                                       const config::AgentConfig& config,
                                       const Ties& ties) {
  const auto router = std::make_shared<rpc::Router>(config.region);
  ties.requests.add_to_client(*router);
  rpc::TcpTransportOptions options;
  options.network = rpc_options(config, net::RpcRole::client, config.name, ties.certificates);
  options.network.threads = 1;
  const auto nobody = [](const std::string&) { return std::string{}; };  // knows no node's secret
  return rpc::TcpTransport::start(
      system, std::move(options), router,
      [nobody](const net::RpcPeer& peer, const rpc::Credentials& credentials) {
        return rpc::identify(peer, credentials, nobody);
      });
}

}  // namespace nomad::agent
