#include "actors/api/http/list.hpp"

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

}  // namespace nomad::api
