// Machine: what the fingerprinters say of this machine, and when they are asked again: some of them
// after a while, all of them when the configuration has changed. Part of the client actor; works in
// its turns, and reads in steps.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "actors/client/client_facts.hpp"
#include "runtime/host/fingerprint/fingerprint.hpp"

namespace nomad::client {

/// What fingerprinters are given.
host::FingerprintOptions looked_at(const ClientOptions& options);

/// Those of `plugins` that `options` allows, in their order.
std::vector<host::NamedFingerprinter> allowed_fingerprinters(const ClientOptions& options,
                                                             const PluginCatalog& plugins);

class Machine {
public:
  /// `client` outlives it. `changed` is called when one of those that are asked again finds
  /// something else.
  Machine(ClientSelf::pointer self, const ClientFacts& client, std::function<void()> changed)
      : self_{self}, client_{client}, changed_{std::move(changed)} {}

  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  /// Asks all that `options` allows; the first time takes what ClientParts has found already.
  /// After an error everything is as before.
  void look(const ClientOptions& options, std::function<void(const Result<>&)> then);

  /// A timer: asks one again.
  void look_again(const client_timer::FingerprintDue& due);

  /// Whether a first look has come to its end.
  bool is_known() const { return round_ > 0; }

  const host::NodeFacts& facts() const { return facts_; }

private:
  void found(host::FingerprintOptions options,
             std::vector<host::NamedFingerprinter> selected,
             std::vector<host::NodeFacts> parts);
  void arm(std::size_t place);
  void heard(std::size_t place, const Result<host::NodeFacts>& found);

  ClientSelf::pointer self_;
  const ClientFacts& client_;
  std::function<void()> changed_;
  host::FingerprintOptions options_;
  std::vector<host::NamedFingerprinter> selected_;
  std::vector<host::NodeFacts> parts_;  ///< Of each of `selected_`.
  host::NodeFacts facts_;               ///< All of them together.
  std::uint64_t round_ = 0;             ///< Counts complete looks; what came before one is void.
};

}  // namespace nomad::client
