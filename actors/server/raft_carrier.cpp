#include "actors/server/raft_carrier.hpp"

#include <utility>

#include "actors/core/supervise.hpp"

namespace nomad::server {
namespace {

/// What waits longer for a connection is old news: the core sends something newer.
constexpr std::chrono::milliseconds patience{500};

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

}  // namespace

raft::Carrier make_raft_carrier(rpc::PostOffice office, std::string region) {
  return [office = std::move(office), region = std::move(region)](raft::Carry letter) {
    if (letter.address.empty())
      return letter.done(Error{Errc::unavailable, "its address is not known"});
    rpc::transport::Post post;
    post.to = {.address = std::move(letter.address), .lane = rpc::Lane::raft, .region = region};
    post.method = rpc::Method::raft_message;
    post.body = std::move(letter.letter);
    post.priority = priority_of(letter.lane);
    post.timeout = patience;
    post.done = std::move(letter.done);
    if (letter.lane == raft::Lane::urgent)
      actor::tell_urgent(office, std::move(post));
    else
      actor::tell(office, std::move(post));
  };
}

}  // namespace nomad::server
