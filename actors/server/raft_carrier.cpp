#include "actors/server/raft_carrier.hpp"

#include "actors/core/supervise.hpp"

namespace nomad::server {
namespace {

/// What waits longer for a connection is old news: the core sends something newer.
constexpr std::chrono::milliseconds patience{500};
constexpr std::chrono::seconds answer_patience{30};

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

void carry(raft::Carrier::pointer self,
           const rpc::PostOffice& office,
           const std::string& region,
           raft::carrier::Carry& msg) {
  const auto sender = msg.sender;
  const auto number = msg.number;
  if (msg.address.empty()) {
    self->send(sender, raft::carrier::Lost{number, "its address is not known"});
    return;
  }
  rpc::transport::Post post;
  post.to = {.address = msg.address, .lane = rpc::Lane::raft, .region = region};
  post.method = rpc::Method::raft_message;
  post.body = std::move(msg.letter);
  post.priority = priority_of(msg.lane);
  post.timeout = patience;
  const auto posted = [self, sender, number](const rpc::transport::Posted&) {
    self->send(sender, raft::carrier::Carried{number});
  };
  const auto failed = [self, sender, number](const caf::error& err) {
    self->send(sender, raft::carrier::Lost{number, actor::from_caf(err).what});
  };
  if (msg.lane == raft::Lane::urgent)
    actor::request_urgent(self, office, answer_patience, std::move(post)).then(posted, failed);
  else
    self->request(office, answer_patience, std::move(post)).then(posted, failed);
}

raft::Carrier::behavior_type raft_carrier(raft::Carrier::pointer self,
                                          rpc::PostOffice office,
                                          std::string region) {
  return {[self, office, region](raft::carrier::Carry& msg) { carry(self, office, region, msg); }};
}

}  // namespace

raft::Carrier spawn_raft_carrier(caf::actor_system& system,
                                 const rpc::PostOffice& office,
                                 std::string region) {
  return actor::spawn(system, raft_carrier, office, std::move(region));
}

}  // namespace nomad::server
