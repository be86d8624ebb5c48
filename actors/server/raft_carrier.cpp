#include "actors/server/raft_carrier.hpp"

#include <map>
#include <mutex>
#include <utility>

#include "actors/core/supervise.hpp"
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

/// The connections that have taken letters. From any thread.
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

raft::Carrier make_raft_carrier(rpc::PostOffice office, std::string region) {
  const auto lines = std::make_shared<Lines>();
  return [office = std::move(office), region = std::move(region), lines](raft::Carry letter) {
    if (letter.address.empty())
      return letter.done(Error{Errc::unavailable, "its address is not known"});
    if (const auto line = lines->find(letter.address))
      return line->post({.method = static_cast<std::uint16_t>(rpc::Method::raft_message),
                         .priority = priority_of(letter.lane),
                         .head = {},
                         .body = std::move(letter.letter)},
                        std::move(letter.done));
    rpc::transport::Post post;
    post.on_connection = [lines, address = letter.address](const net::RpcConnectionRef& taken) {
      lines->note(address, taken);
    };
    post.to = {.address = std::move(letter.address), .lane = rpc::Lane::raft, .region = region};
    post.method = rpc::Method::raft_message;
    post.body = std::move(letter.letter);
    post.priority = priority_of(letter.lane);
    post.timeout = post_patience;
    post.done = std::move(letter.done);
    if (letter.lane == raft::Lane::urgent)
      actor::tell_urgent(office, std::move(post));
    else
      actor::tell(office, std::move(post));
  };
}

}  // namespace nomad::server
