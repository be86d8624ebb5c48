// Finding the one object that a user's prefix means, with Nomad's words for none and several.
#pragma once

#include <string>

#include "cli/api.hpp"
#include "cli/output/layout.hpp"

namespace nomad::cli {

/// Kinds of objects with UUIDs.
struct UuidKind {
  std::string_view list_path;  ///< "/v1/allocations"
  std::string_view read_path;  ///< "/v1/allocation/"
  std::string_view noun;       ///< "allocation", in `No allocation(s) with prefix or id "x" found`
  std::string_view title;      ///< "Alloc ID", in `Alloc ID must contain at least two characters.`
  std::string_view error;      ///< "Error querying allocation"
  std::string_view id = {};    ///< Of texts for none that say: "Deployment ID"
  std::string_view or_id = " or id";  ///< In the text for none.
};

inline constexpr UuidKind alloc_kind{"/v1/allocations", "/v1/allocation/", "allocation", "Alloc ID",
                                     "Error querying allocation"};
inline constexpr UuidKind node_kind{"/v1/nodes", "/v1/node/", "node", "Identifier",
                                    "Error querying node info"};
inline constexpr UuidKind eval_kind{"/v1/evaluations", "/v1/evaluation/", "evaluation",
                                    "Identifier", "Error querying evaluation"};
inline constexpr UuidKind deployment_kind{
    "/v1/deployments", "/v1/deployment/", "deployment", "Identifier", "Error retrieving deployment",
    "Deployment ID"};

/// The whole object behind a UUID or its prefix.
Result<Answer> find_by_prefix(Api& api,
                              const UuidKind& kind,
                              const std::string& prefix,
                              bool verbose);

/// The id of the agent's own node.
Result<std::string> own_node(Api& api);

/// Which jobs a command takes.
struct JobKind {
  std::string_view adjective;  ///< "periodic ", in `No periodic job(s) with prefix or ID "x" found`
  std::string_view flag;       ///< A member of the job's stub that must hold; empty: none.
};

inline constexpr JobKind any_job{"", ""};
inline constexpr JobKind only_periodic_jobs{"periodic ", "Periodic"};
inline constexpr JobKind only_parameterized_jobs{"parameterized ", "ParameterizedJob"};

/// The job that `id` names: exactly, else as the only job with that prefix. Later requests of
/// `api` go to its namespace.
Result<std::string> find_job(Api& api, const std::string& id, const JobKind& kind = any_job);

/// One running allocation of a job, for the commands that take -job; of that group alone, if one is
/// named.
Result<std::string> any_alloc_of_job(Api& api,
                                     const std::string& job,
                                     const std::string& group = {});

/// The body of a request that promotes groups of a deployment; all when none is named.
boost::json::value promotion_of(const std::string& deployment_id,
                                const std::vector<std::string>& groups);

/// The names of the tasks in the group of an allocation, in the job's order.
std::vector<std::string> tasks_of_alloc(const View& alloc);

/// -job and -group of commands that take an allocation, or a job for one of its allocations.
struct AllocFlags {
  explicit AllocFlags(Arguments& command);

  const bool& job;
  const std::string& group;  ///< Of the job's allocations one of this group; "" is any.
};

/// The allocation that an argument names: itself, or a running one of a job's.
Result<Answer> choose_alloc(Api& api,
                            const AllocFlags& flags,
                            const std::string& name,
                            bool verbose);

/// The only task, or the one that the flag or the argument names; otherwise an error
/// that begins with `complaint`. Only the flag is checked against the job: the agent knows better
/// of the argument.
Result<std::string> choose_task(const View& alloc,
                                const std::string& flag,
                                const std::string& argument,
                                std::string_view complaint);

/// Rows of an allocation list as several commands show them; those of one node do not name it.
std::string alloc_table(const View& allocs, bool verbose, bool names_nodes = true);
std::string job_table(const View& jobs, bool with_namespace);
std::string node_table(const View& nodes, bool verbose, bool with_os, bool with_allocs, Api* api);
/// The nodes of one pool.
std::string pool_node_table(const View& nodes, bool verbose);
std::string eval_table(const View& evals, bool verbose);
std::string deployment_table(const View& deployments, bool verbose);

}  // namespace nomad::cli
