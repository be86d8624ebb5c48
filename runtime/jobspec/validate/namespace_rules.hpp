// What a namespace asks of its jobs: the drivers that tasks may have, and the node pools.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/jobspec/draft_block.hpp"
#include "schema/job.capnp.h"
#include "schema/node.capnp.h"

namespace nomad::jobspec {

/// The pool of the namespace's jobs that name none; valid as long as `ns`.
std::string_view default_node_pool(schema::Namespace::Reader ns);

/// What the namespace has against the job, in its server form or as it is stored.
std::vector<std::string> namespace_errors(const DraftBlock& job, schema::Namespace::Reader ns);
std::vector<std::string> namespace_errors(schema::Job::Reader job, schema::Namespace::Reader ns);

/// What is wrong with a namespace's rules about node pools.
std::vector<std::string> node_pool_mistakes(
    schema::NamespaceNodePoolConfiguration::Reader configuration);

}  // namespace nomad::jobspec
