// SealedService: Server.WriteSealed, the method by which a server that does not lead has a command
// of the keyring written, its own public key above all. And SealedLink, the other end of it: an
// actor that proposes commands while this server leads, and else hands them to the leader.
//
// What travels is what goes into the log: ciphertext and public keys. The service's handler runs on
// the threads of the transport. Of the link:
//
// Owns:   the answers that are still being written.
// Takes:  WriteSealed.
// Parent: server, restart. Who waits for an answer is told `unavailable`.
// Ends:   by the parent's exit message.
#pragma once

#include <memory>
#include <optional>

#include "actors/core/latest.hpp"
#include "actors/rpc/forwarder.hpp"
#include "actors/rpc/router.hpp"
#include "actors/server/sealed_written.hpp"
#include "actors/server/writer.hpp"

namespace nomad::server {

/// Has a command of the keyring written, by whoever leads.
struct WriteSealed {
  using is_message = void;
  Object<schema::Command> command;
};

using SealedLink = actor::Interface<SealedWritten(WriteSealed)>;

/// Copies share everything.
class SealedService {
public:
  /// Once, before anything is served.
  void add_to(rpc::MethodRouter& router);

  /// Until then everybody is told `unavailable`.
  void open(Writer writer);

  void stop();

private:
  actor::Latest<std::optional<Writer>> writer_;
};

SealedLink spawn_sealed_link(const actor::Owner& owner,
                             raft::Proposer proposer,
                             const rpc::Forwarder& forwarder,
                             std::shared_ptr<const raft::LeaderView> leader);

}  // namespace nomad::server
