// What can be searched: the kinds of objects by the names that requests and answers have for them,
// what each needs of its caller, and what begins with a prefix of its ids. Used by both searches.
// Tests: fuzzy_search_test, and read_test for the other one.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "actors/api/http/read_options.hpp"
#include "actors/api/http/view.hpp"

namespace nomad::api {

using access::Capability;

/// At most 20.
struct FoundIds {
  std::vector<std::string> ids;
  bool is_truncated = false;

  /// False when there is no more place.
  bool add(std::string_view id);
};

/// A kind of object, as the request and the answer name it.
struct SearchContext {
  std::string_view name;
  bool has_uuids;                     ///< Left out where the prefix can begin none.
  std::optional<state::Table> table;  ///< Empty: there are none of them.
  Capability needed;
  FoundIds (*find)(const View& snapshot, const std::string& prefix, const ReadOptions& options);
  Capability or_else = Capability::none;  ///< Opens it as well.
};

/// By the alphabet.
std::span<const SearchContext> search_contexts();

/// Whether a request with this context searches all of them.
constexpr bool is_any_context(std::string_view name) {
  return name == "all";
}

/// `rejected` for a context that there is not.
Result<> check_context(std::string_view name);

/// By which right the caller searches there; why he can find nothing.
Result<Capability> right_to_search(const View& snapshot,
                                   const SearchContext& context,
                                   const ReadOptions& options);

/// Whether a UUID may begin so.
bool is_id_prefix(const std::string& prefix);

}  // namespace nomad::api
