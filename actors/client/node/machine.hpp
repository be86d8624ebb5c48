// Machine: what the fingerprinters say of this machine, and when they are asked again: some of them
// after a while, all of them when the configuration has changed. Part of the client actor; works in
// its turns, and reads in steps.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "actors/client/client_options.hpp"
#include "actors/client/plugin_catalog.hpp"
#include "actors/client/tools/blocking_pool.hpp"
#include "actors/core/part.hpp"
#include "runtime/host/fingerprint/fingerprint.hpp"

namespace nomad::client {

/// What fingerprinters are given.
host::FingerprintOptions looked_at(const ClientOptions& options);

/// Those of `plugins` that `options` allows, in their order.
std::vector<host::NamedFingerprinter> allowed_fingerprinters(const ClientOptions& options,
                                                             const PluginCatalog& plugins);

class Machine {
public:
  /// A timer: one is asked again.
  struct LookDue {
    using is_message = void;
    std::uint64_t round;
    std::size_t position;  ///< Of the fingerprinter among the selected ones.
  };

  using Messages = actor::Interface<void(LookDue)>;

  struct Parts {
    BlockingPool steps;
    /// What has been found already, for the first look; null: nothing.
    std::shared_ptr<const std::vector<host::NodeFacts>> first_look;
    const bool& stopping;  ///< The client's.
    /// One of those that are asked again has found something else.
    std::function<void()> changed;
  };

  Machine(actor::PartSelf<Messages> self, Parts parts) : self_{self}, parts_{std::move(parts)} {}

  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  auto handlers() {
    return actor::handlers([this](LookDue msg) { look_again(msg); });
  }

  /// Asks all of `plugins` that `options` allows. After an error everything is as before.
  void look(const ClientOptions& options,
            const PluginCatalog& plugins,
            std::function<void(const Result<>&)> then);

  /// Whether a first look has come to its end.
  bool is_known() const { return round_ > 0; }

  const host::NodeFacts& facts() const { return facts_; }

private:
  void found(host::FingerprintOptions options,
             std::vector<host::NamedFingerprinter> selected,
             std::vector<host::NodeFacts> found);
  void arm(std::size_t position);
  void look_again(LookDue due);
  void heard(std::size_t position, const Result<host::NodeFacts>& found);

  actor::PartSelf<Messages> self_;
  Parts parts_;
  host::FingerprintOptions options_;
  std::vector<host::NamedFingerprinter> selected_;
  std::vector<host::NodeFacts> found_;  ///< By each of `selected_`.
  host::NodeFacts facts_;               ///< All of them together.
  std::uint64_t round_ = 0;             ///< Counts complete looks; what came before one is void.
};

}  // namespace nomad::client
