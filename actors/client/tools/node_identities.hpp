// NodeIdentities: the newest identities of a node's tasks and services, for whoever needs one to
// show it elsewhere (a hook that logs in to Consul or Vault takes a service's from here), and what
// is shown of them: whose, for whom and until when, never the token. Hooks put them here and take
// them away when they end.
//
// Thread-safe. Nothing of it is written down.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "actors/roles/client_api.hpp"
#include "runtime/base/secret.hpp"

namespace nomad::client {

class NodeIdentities {
public:
  using Shown = client_api::IdentityReport;

  /// Replaces what there is of the same task, service and name.
  void put(const std::string& alloc_id, Shown shown, SecretText token);

  /// Those of the task and of its services; of an allocation's own services with "".
  void forget(const std::string& alloc_id, const std::string& task);

  /// None: there is none (any more), or not yet. Whoever needs it later asks again then, for it is
  /// renewed meanwhile.
  std::optional<SecretText> token_of(const std::string& alloc_id,
                                     const std::string& task,
                                     const std::string& service,
                                     const std::string& name) const;

  /// By task, service and name.
  std::vector<Shown> list(const std::string& alloc_id) const;

private:
  struct Location {
    std::string alloc_id;
    std::string task;
    std::string service;
    std::string name;

    friend auto operator<=>(const Location&, const Location&) = default;
  };

  struct Held {
    Shown shown;
    SecretText token;
  };

  mutable std::mutex guard_;
  std::map<Location, Held> held_;
};

}  // namespace nomad::client
