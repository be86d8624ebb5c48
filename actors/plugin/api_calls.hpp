// ApiCalls: what a plugin asks of the agent's API, served by the routes of its HTTP server, and
// what it has subscribed to, under a window. Part of the PluginLink; its functions are called in
// that actor's turns.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <shared_mutex>
#include <string>

#include "actors/plugin/body/plugin_peer.hpp"
#include "runtime/base/secret.hpp"
#include "runtime/net/http/http_message.hpp"
#include "runtime/net/http/router.hpp"

namespace nomad::plugin {

class PluginExchange;

/// The way to the agent's routes, which can be closed: afterwards nothing is under way to them.
class ApiGate {
public:
  /// `node_id`: the client node of the agent; empty: it has none.
  explicit ApiGate(std::shared_ptr<const net::HttpRouter> routes, std::string node_id = {})
      : routes_{std::move(routes)}, node_id_{std::move(node_id)} {}

  const std::string& node_id() const { return node_id_; }

  /// Any thread. Answers `unavailable` once closed.
  void serve(const std::shared_ptr<net::detail::Exchange>& exchange);
  void close();

private:
  std::shared_mutex guard_;
  std::shared_ptr<const net::HttpRouter> routes_;
  const std::string node_id_;
};

/// What a plugin may use of the API: what its token gives, as far as that is allowed to it.
struct ApiUse {
  std::string allowed{};  ///< Words of access::Limits.
  SecretText token{};     ///< Empty: none, which gives what everyone may do.
};

class ApiCalls {
public:
  static constexpr std::size_t most_requests = 64;
  static constexpr std::size_t most_subscriptions = 16;
  static constexpr std::size_t most_answer_bytes = std::size_t{8} << 20;

  /// An answer, or a piece of a subscription, on any thread.
  struct Heard {
    std::uint64_t number = 0;
    bool is_head = false;  ///< Of a subscription, or the whole answer.
    bool last = false;     ///< Of a subscription.
    net::Response response{};
    std::string bytes{};
  };

  using Tell = std::function<void(Heard)>;

  /// Frames that are to be sent.
  using Send = std::function<void(const std::function<void(schema::plugin::Frame::Builder)>&)>;

  /// Requests are served in `turns`, which are not its own.
  ApiCalls(Turns turns, std::string who, Tell tell, Send send)
      : turns_{std::move(turns)},
        who_{std::move(who)},
        tell_{std::move(tell)},
        send_{std::move(send)} {}

  ~ApiCalls() { end_all(); }

  ApiCalls(const ApiCalls&) = delete;
  ApiCalls& operator=(const ApiCalls&) = delete;

  /// Before it nothing is served. Beside what `use` says the plugin may read the gate's node, if
  /// its token may.
  void open(std::shared_ptr<ApiGate> gate, const ApiUse& use);

  void request(std::uint64_t number, schema::plugin::ApiRequest::Reader wanted, bool subscribes);
  void taken(std::uint64_t number, std::size_t bytes);
  void unsubscribe(std::uint64_t number);
  void heard(const Heard& what);

  /// Nobody waits any more.
  void end_all();

private:
  void refuse(std::uint64_t number, const Error& why);

  Turns turns_;
  std::string who_;
  Tell tell_;
  Send send_;
  std::shared_ptr<ApiGate> gate_;
  std::string limits_;  ///< What all requests are kept to.
  SecretText token_;    ///< With which they come.
  std::map<std::uint64_t, std::shared_ptr<PluginExchange>> requests_;
  std::map<std::uint64_t, std::shared_ptr<PluginExchange>> subscriptions_;
};

}  // namespace nomad::plugin
