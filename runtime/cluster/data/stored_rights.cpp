#include "runtime/cluster/data/stored_rights.hpp"

#include <utility>

#include "runtime/base/secret.hpp"
#include "runtime/object/object.hpp"
#include "runtime/state/store.hpp"

namespace nomad::cluster {

std::uint64_t stored_rights_index(const state::Snapshot&) {
  return 0;  // of no table yet
}

Result<access::Grant> stored_rights(const state::Snapshot& state, std::string_view) {
  return access::Grant{.rights = access::Rights::everything(), .index = stored_rights_index(state)};
}

bool is_secret_of_node(const state::Snapshot& state,
                       std::string_view node_id,
                       std::string_view secret) {
  const auto node = state.node(node_id);
  return node && !secret.empty() && same_secret(view(node->getSecretId()), secret);
}

access::Lookup lookup_in(std::shared_ptr<const state::Store> store) {
  return {.index = [store] { return stored_rights_index(store->snapshot()); },
          .is_node =
              [store](std::string_view id, std::string_view secret) {
                return is_secret_of_node(store->snapshot(), id, secret);
              },
          .here = [store](std::string_view token) -> std::optional<Result<access::Grant>> {
            return stored_rights(store->snapshot(), token);
          }};
}

}  // namespace nomad::cluster
