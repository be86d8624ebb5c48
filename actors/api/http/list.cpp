#include "actors/api/http/list.hpp"

#include "runtime/base/ids.hpp"

namespace nomad::api {

Walk walk_by_create(const ReadOptions& options) {
  Walk walk;
  if (!options.prefix.empty()) {
    walk.prefix = options.prefix;
    walk.start = options.next_token;
    return walk;
  }
  walk.reverse = options.reverse;
  if (const auto token = query::CreateToken::parse(options.next_token))
    walk.start = state::number_key(token->create_index) + token->id;
  return walk;
}

Walk walk_by_name(const ReadOptions& options) {
  Walk walk;
  if (!options.all_namespaces()) walk.prefix = state::join_key(options.ns, options.prefix);
  if (!options.next_token.empty()) {
    const auto token = query::NameToken::parse(options.next_token);
    walk.start = state::join_key(token.ns, token.id);
  }
  return walk;
}

Result<> check_id_prefix(std::string_view what, const ReadOptions& options) {
  const auto checked = check_uuid_prefix(options.prefix);
  if (checked) return {};
  const auto begin = what.empty() ? std::string{} : std::string{what} + " lookup failed: ";
  return Error{Errc::rejected, begin + "index error: " + checked.error().what};
}

Result<> check_id(std::string_view what, std::string_view id) {
  const std::string begin = std::string{what} + " lookup failed: index error: ";
  if (is_uuid(id)) return {};
  if (id.size() != 36) return Error{Errc::rejected, begin + "UUID must be 36 characters"};
  const auto checked = check_uuid_prefix(id);
  return Error{Errc::rejected,
               begin + (checked ? "UUID must be 36 characters" : checked.error().what)};
}

}  // namespace nomad::api
