// SealedService: Server.WriteSealed, the method by which a server that does not lead has a command
// of the keyring written, its own public key above all. And SealedLink, the other end of it.
//
// What travels is what goes into the log: ciphertext and public keys.
//
// Threads: the handler runs on the threads of the transport and asks the leader's endpoint through
// a gateway that the service owns.
#pragma once

#include <memory>

#include "actors/raft/raft_node.hpp"
#include "actors/rpc/forwarder.hpp"
#include "actors/rpc/router.hpp"
#include "actors/server/server_api.hpp"

namespace nomad::server {

/// Copies share everything.
class SealedService {
public:
  explicit SealedService(actor::System& system);

  /// Once, before anything is served.
  void add_to(rpc::Router& router);

  /// Until then everybody is told `unavailable`.
  void open(const SealedOffice& office);

  void stop();

private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

/// Takes WriteSealed: hands it to `own` while this server leads, else to the leader.
/// Parent: the agent's wiring. Ends: by the parent's exit message.
SealedOffice spawn_sealed_link(actor::System& system,
                               const SealedOffice& own,
                               const rpc::Forwarder& forwarder,
                               std::shared_ptr<const raft::LeaderView> leader);

}  // namespace nomad::server
