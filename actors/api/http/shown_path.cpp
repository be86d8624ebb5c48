#include "actors/api/http/shown_path.hpp"

#include "runtime/access/secret_hash.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/cluster/acl/acl_names.hpp"

namespace nomad::api {

namespace {

constexpr std::string_view below_tokens = "/v1/acl/token/";

}  // namespace

SecretText secret_in_path(std::string_view path, const std::shared_ptr<state::Store>& store) {
  if (!path.starts_with(below_tokens)) return SecretText{};
  const auto id = path.substr(below_tokens.size());
  if (!is_uuid(id)) return SecretText{};
  if (store && !cluster::token_of_secret(store->snapshot(), access::secret_hash(id)))
    return SecretText{};
  return SecretText{std::string{id}};
}

std::string shown_path(const std::string& path, const std::shared_ptr<state::Store>& store) {
  if (secret_in_path(path, store).empty()) return path;
  return std::string{below_tokens} + "<redacted>";
}

}  // namespace nomad::api
