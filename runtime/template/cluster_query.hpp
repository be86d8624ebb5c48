// What a node asks the servers so that the templates of its tasks can be rendered: services and
// variables, each question with all that its answer depends on, so that whoever asks the same is
// served by one answer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/template/eval/sources.hpp"

namespace nomad::templates {

struct ClusterQuery {
  /// Sent as a number: never renumber.
  enum class Kind : std::uint8_t {
    services = 1,  ///< The names and tags of all services of the namespace.
    service,       ///< The instances of service `name`.
    variable,      ///< The variable `name`.
    variables,     ///< The variables whose paths begin with `name`; "*" is every namespace.
  };

  static constexpr Kind last_kind = Kind::variables;

  Kind kind = Kind::services;
  std::string name_space{};
  std::string name{};
  std::string tag{};     ///< Of services: who has it; empty: all.
  std::string choose{};  ///< Of services: "<number>|<key>"; empty: all.

  auto operator<=>(const ClusterQuery&) const = default;
};

/// What is to be asked of the servers for `query`, a template's of a task in `name_space`. Nothing
/// for files.
std::optional<ClusterQuery> cluster_query(const Query& query, std::string_view name_space);

/// The region that `query` names; empty: the task's.
std::string_view region_of(const Query& query);

}  // namespace nomad::templates
