#include "actors/server/members/raft_carrier.hpp"

#include <map>
#include <mutex>
#include <utility>

#include "runtime/net/rpc/rpc_link.hpp"

namespace nomad::server {
namespace {

/// What waits longer for a connection is old news: the core sends something newer.
constexpr std::chrono::milliseconds post_patience{500};

rpc::RpcPriority priority_of(raft::Lane lane) {
  switch (lane) {
    case raft::Lane::urgent:
      return rpc::RpcPriority::urgent;
    case raft::Lane::normal:
      return rpc::RpcPriority::normal;
    case raft::Lane::bulk:
      return rpc::RpcPriority::bulk;
  }
  return rpc::RpcPriority::normal;
}

/// The connections that have taken messages. From any thread.
class Lines {
public:
  /// An open one to there, or none.
  net::RpcConnectionRef find(const std::string& address) {
    const std::scoped_lock lock{guard_};
    const auto line = open_.find(address);
    return line != open_.end() && line->second->is_open() ? line->second : nullptr;
  }

  void note(const std::string& address, const net::RpcConnectionRef& connection) {
    const std::scoped_lock lock{guard_};
    std::erase_if(open_, [](const auto& line) { return !line.second->is_open(); });
    open_.insert_or_assign(address, connection);
  }

private:
  std::mutex guard_;
  std::map<std::string, net::RpcConnectionRef> open_;
};

}  // namespace

raft::Carrier make_raft_carrier(rpc::PostTransport transport, std::string region) {
  const auto lines = std::make_shared<Lines>();
  return [transport = std::move(transport), region = std::move(region),
          lines](raft::Carry carried) {
    if (carried.address.empty())
      return carried.done(Error{Errc::unavailable, "its address is not known"});
    if (const auto line = lines->find(carried.address))
      return line->post({.method = static_cast<std::uint16_t>(rpc::Method::raft_message),
                         .priority = priority_of(carried.lane),
                         .head = {},
                         .body = std::move(carried.bytes)},
                        std::move(carried.done));
    rpc::transport::Post post;
    post.on_connection = [lines, address = carried.address](const net::RpcConnectionRef& taken) {
      lines->note(address, taken);
    };
    post.to = {.address = std::move(carried.address), .lane = rpc::Lane::raft, .region = region};
    post.method = rpc::Method::raft_message;
    post.body = std::move(carried.bytes);
    post.priority = priority_of(carried.lane);
    post.timeout = post_patience;
    post.done = std::move(carried.done);
    if (carried.lane == raft::Lane::urgent)
      actor::tell_urgent(transport, std::move(post));
    else
      actor::tell(transport, std::move(post));
  };
}

}  // namespace nomad::server
