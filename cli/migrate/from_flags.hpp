// The flags of `nomadctl migrate` that name the cluster that is moved from.
#pragma once

#include "cli/api.hpp"
#include "cli/arguments.hpp"
#include "cli/migrate/cluster.hpp"

namespace nomad::cli::migrate {

/// -from and those of the connection, which all commands have of their own cluster.
struct FromFlags {
  CommonFlags flags;

  explicit FromFlags(Arguments& arguments);
};

/// Reads the cluster that is moved from.
Result<Cluster> read_from(Api& api, VariableItems items);

}  // namespace nomad::cli::migrate
