// What the configuration says of the connections between agents: certificates, limits, names; and
// the links that are made of it: a server's, which listens, and that of an agent without a server,
// which only dials.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "actors/api/forward/remote_requests.hpp"
#include "actors/core/latest.hpp"
#include "actors/roles/job_types.hpp"
#include "actors/roles/node_questions.hpp"
#include "actors/roles/service_providers.hpp"
#include "actors/rpc/tcp_transport.hpp"
#include "runtime/config/agent_config.hpp"
#include "runtime/net/kept_users.hpp"
#include "runtime/net/tls/tls_context.hpp"
#include "runtime/telemetry/identity_counters.hpp"
#include "runtime/telemetry/registry.hpp"

namespace nomad::agent {

/// What the halves of an agent share of its links to other agents.
struct AgentLinks {
  std::shared_ptr<net::TlsContext> certificates;  ///< Null without TLS.
  api::RemoteRequests requests;                   ///< Serves API requests that others pass on.
  actor::Latest<AskedNode> node;  ///< Answers what servers ask of an agent without a server.
  std::shared_ptr<telemetry::Registry> metrics;          ///< Null: nothing is measured.
  std::shared_ptr<telemetry::IdentityCounters> callers;  ///< Null: nobody is counted.
  std::shared_ptr<server::JobTypes> job_types;           ///< That plugins schedule.
  std::shared_ptr<client::ServiceProviders> providers;   ///< Of services, that plugins bring.
  std::shared_ptr<net::KeptUsers> kept_users = std::make_shared<net::KeptUsers>();  ///< Plugins'.
};

/// How an agent reaches others, and is reached.
struct Link {
  rpc::Transport transport;
  std::string address;         ///< Where it listens.
  std::function<void()> stop;  ///< Closes everything; may be empty.
};

/// Makes one that serves by `router`.
using MakeLink = std::function<Result<Link>(std::shared_ptr<const rpc::MethodRouter> router)>;

/// Whether an agent's certificate must say what it is: then it is judged with each call.
bool proves_roles(const config::AgentConfig& config);

/// Null when `tls.http` is off. Clients need a certificate with `tls.verify_https_client`.
Result<std::shared_ptr<net::TlsContext>> http_certificates(const config::AgentConfig& config);

/// Null when `tls.rpc` is off.
Result<std::shared_ptr<net::TlsContext>> rpc_certificates(const config::AgentConfig& config);

/// "10.0.0.7:4647", "[::1]:4647"
std::string with_port(const std::string& host, std::int64_t port);

/// `name`: what the peer's logs call this process.
net::RpcOptions rpc_options(const config::AgentConfig& config,
                            net::RpcRole role,
                            const std::string& name,
                            std::shared_ptr<net::TlsContext> certificates);

/// Binds the RPC ports. `name`: what the peer's logs call this process.
MakeLink listening(const actor::Owner& owner,
                   const config::AgentConfig& config,
                   const std::string& name,
                   const AgentLinks& links);

/// A client's way to its servers, over which they ask it what is about its node.
Result<rpc::TcpTransport> start_dialer(const actor::Owner& owner,
                                       const config::AgentConfig& config,
                                       const AgentLinks& links,
                                       std::shared_ptr<access::Authenticator> authenticator);

}  // namespace nomad::agent
