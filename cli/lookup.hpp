// Finding the one object that a user's prefix means, with Nomad's words for none and several.
#pragma once

#include <optional>
#include <string>

#include "cli/api.hpp"
#include "cli/layout.hpp"

namespace nomad::cli {

/// What a lookup came to: a value, or the exit code of a command that has printed why not.
template <class T>
struct Found {
  std::optional<T> value;
  int exit_code = 1;
};

/// Kinds of objects with UUIDs.
struct UuidKind {
  std::string_view list_path;  ///< "/v1/allocations"
  std::string_view read_path;  ///< "/v1/allocation/"
  std::string_view noun;       ///< "allocation", in `No allocation(s) with prefix or id "x" found`
  std::string_view title;      ///< "Alloc", in `Alloc ID must contain at least two characters.`
};

inline constexpr UuidKind alloc_kind{"/v1/allocations", "/v1/allocation/", "allocation", "Alloc"};
inline constexpr UuidKind node_kind{"/v1/nodes", "/v1/node/", "node", "Node"};
inline constexpr UuidKind eval_kind{"/v1/evaluations", "/v1/evaluation/", "evaluation",
                                    "Identifier"};
inline constexpr UuidKind deployment_kind{"/v1/deployments", "/v1/deployment/", "deployment",
                                          "Deployment"};

/// The whole object behind a UUID or its prefix.
Found<Answer> find_by_prefix(Api& api,
                             const UuidKind& kind,
                             const std::string& prefix,
                             bool verbose);

/// The job that `id` names: exactly, else as the only job with that prefix. Later requests of
/// `api` go to its namespace.
Found<std::string> find_job(Api& api, const std::string& id);

/// One running allocation of a job, for the commands that take -job.
Found<std::string> any_alloc_of_job(Api& api, const std::string& job);

/// Rows of an allocation list as several commands show them.
std::string alloc_table(const View& allocs, bool verbose);
std::string node_table(const View& nodes, bool verbose, bool with_os, bool with_allocs, Api* api);
std::string eval_table(const View& evals, bool verbose);
std::string deployment_table(const View& deployments, bool verbose);

}  // namespace nomad::cli
