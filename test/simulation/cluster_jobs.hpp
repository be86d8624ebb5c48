// The jobs that the operators of a ClusterWorld register.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/base/random.hpp"
#include "runtime/object/object.hpp"
#include "schema/job.capnp.h"

namespace nomad::test {

/// Jobs preempt those that are at least so much less important.
inline constexpr std::int64_t priority_gap = 10;

/// What a third of the tasks do not show and all others do: the default identity, in a file and in
/// the environment, and one in a file that is renewed. Another third have one besides that is for
/// others, in a file and renewed as well.
inline constexpr const char* renewed_identity = "renewed";
inline constexpr const char* others_identity = "others";
inline constexpr const char* default_identity_file = "secrets/nomad_token";
inline constexpr const char* renewed_identity_file = "secrets/nomad_renewed.jwt";
inline constexpr const char* others_identity_file = "secrets/nomad_others.jwt";
inline constexpr std::chrono::seconds identity_ttl{30};

/// A job that is never evaluated: a register that holds `value`.
Object<schema::Job> register_job(const std::string& id, std::uint64_t value);

/// What such a job holds; 0: it is no register.
std::uint64_t register_value(schema::Job::Reader job);

/// A service of some allocations, which may fail, with deployments, canaries or without.
Object<schema::Job> service_job(const std::string& id, Random& random);

/// Whether the service of this id always wants a node of its own for each allocation.
bool has_distinct_hosts(std::string_view id);

/// A job that runs on every node, now and then on none; some are updated one after the other.
Object<schema::Job> system_job(const std::string& id, Random& random);

/// A job that runs once on every node.
Object<schema::Job> sysbatch_job(const std::string& id, Random& random);

/// A batch job that is launched every three seconds.
Object<schema::Job> periodic_job(const std::string& id, Random& random);

/// A batch job that somebody has to dispatch.
Object<schema::Job> parameterized_job(const std::string& id, Random& random);

/// A batch job of up to three allocations, which end by themselves.
Object<schema::Job> batch_job(const std::string& id, Random& random);

}  // namespace nomad::test
