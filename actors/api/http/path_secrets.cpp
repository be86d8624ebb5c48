#include "actors/api/http/path_secrets.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "actors/api/http/call.hpp"
#include "runtime/access/secret_hash.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/text.hpp"
#include "runtime/cluster/acl/acl_names.hpp"

namespace nomad::api {

namespace {

constexpr std::string_view below_tokens = "/v1/acl/token/";
constexpr std::string_view below_one_time = "/v1/acl/token/onetime/";  // where nothing has an id
constexpr std::size_t most_secrets = 16;
constexpr std::size_t uuid_size = 36;

bool is_of_token(const state::Snapshot& state, std::string_view secret) {
  const auto hash = access::secret_hash(secret);
  return bool(cluster::token_of_secret(state, hash))
         || bool(state.row<state::kind::AclOneTimeTokens>(hash));
}

/// Three parts of base64, of which the first is JSON: nothing else that has a name looks so.
bool is_signed(std::string_view part) {
  return part.starts_with("eyJ") && std::ranges::count(part, '.') == 2;
}

}  // namespace

std::vector<SecretText> secrets_in(std::string_view text,
                                   const std::shared_ptr<state::Store>& store) {
  std::vector<SecretText> found;
  const auto add = [&found](std::string_view secret) {
    if (found.size() < most_secrets) found.emplace_back(std::string{secret});
  };
  for (const auto part : split(text, '/'))
    if (is_signed(part)) add(part);
  if (!store && !text.starts_with(below_tokens)) return found;
  const bool has_no_ids = text.starts_with(below_one_time);
  std::optional<state::Snapshot> state;  // once there is an id to look up: most paths have none
  const auto is_secret = [&](std::string_view id) {
    if (has_no_ids || !store) return true;
    if (!state) state = store->snapshot();
    return is_of_token(*state, id);
  };
  for (std::size_t at = 0; at + uuid_size <= text.size(); ++at) {
    const auto id = text.substr(at, uuid_size);
    if (!is_uuid(id)) continue;
    if (is_secret(id)) add(id);
    at += uuid_size - 1;
  }
  return found;
}

std::string_view pattern_of(std::string_view listed) {
  const auto space = listed.find(' ');
  return space == listed.npos ? std::string_view{} : listed.substr(space + 1);
}

std::string_view route_of(const Call& call) {
  return call.metered ? pattern_of(call.metered->route) : std::string_view{};
}

}  // namespace nomad::api
