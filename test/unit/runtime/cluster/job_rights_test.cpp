#include "runtime/cluster/job_rights.hpp"

#include <functional>
#include <set>
#include <string>

#include <doctest/doctest.h>

#include "runtime/cluster/job_commands.hpp"
#include "runtime/cluster/scale_commands.hpp"
#include "runtime/object/draft.hpp"
#include "test/support/anybody.hpp"
#include "test/unit/runtime/state/fixture.hpp"

using namespace nomad;
using access::Capability;

namespace {

using JobBuilder = schema::Job::Builder;

Object<schema::Job> job_with(const std::function<void(schema::TaskGroup::Builder)>& fill) {
  Draft<schema::Job> draft;
  draft->setNamespace("prod");
  fill(draft->initTaskGroups(1)[0]);
  return draft.freeze();
}

Object<schema::Job> with_volume(const std::string& type,
                                bool read_only,
                                bool bidirectional = false) {
  return job_with([&](schema::TaskGroup::Builder group) {
    auto entry = group.initVolumes(1)[0];
    entry.setKey("v");
    auto volume = entry.initValue();
    volume.setType(type);
    volume.setSource("certs");
    volume.setReadOnly(read_only);
    auto mount = group.initTasks(1)[0].initVolumeMounts(1)[0];
    mount.setVolume("v");
    mount.setPropagationMode(bidirectional ? "bidirectional" : "private");
  });
}

/// Whether whoever has `given`, and is not denied any pool but "gpu", of namespace "prod" and
/// volume "certs", may submit the job.
bool may(const std::set<Capability>& given, const Object<schema::Job>& job) {
  const auto who = test::somebody([given](Capability needed, const access::Target& target) {
    if (access::is_namespaced(needed) && target.ns != "prod") return false;
    if (needed == Capability::node_pool_use) return target.node_pool != "gpu";
    const bool is_mount = needed == Capability::host_volume_mount_readonly
                          || needed == Capability::host_volume_mount_readwrite;
    return (!is_mount || target.host_volume == "certs") && given.contains(needed);
  });
  return cluster::authorize_contents(who, *job).has_value();
}

constexpr auto readonly = Capability::host_volume_mount_readonly;
constexpr auto readwrite = Capability::host_volume_mount_readwrite;

}  // namespace

TEST_CASE("job_rights: a job with nothing of the node needs no more") {
  CHECK(may({}, job_with([](auto) {})));
}

TEST_CASE(
    "job_rights: a job is refused in a pool that is denied; one without a pool is of default") {
  for (const char* pool : {"gpu", "cpu", ""}) {
    Draft<schema::Job> draft;
    draft->setNamespace("prod");
    draft->setNodePool(pool);
    CAPTURE(std::string{pool});
    CHECK(may({}, draft.freeze()) == (std::string_view{pool} != "gpu"));
  }
  std::string asked;
  const auto who = test::somebody([&asked](Capability, const access::Target& target) {
    asked = target.node_pool;
    return true;
  });
  CHECK(cluster::authorize_pool(who, *Draft<schema::Job>{}.freeze()).has_value());
  CHECK(asked == "default");
}

TEST_CASE("job_rights: a volume of the node needs the right to mount it as it is asked for") {
  CHECK_FALSE(may({}, with_volume("host", true)));
  CHECK(may({readonly}, with_volume("host", true)));
  CHECK(may({readwrite}, with_volume("host", true)));
  CHECK_FALSE(may({readonly}, with_volume("host", false)));
  CHECK(may({readwrite}, with_volume("host", false)));
  CHECK_FALSE(may({readonly}, with_volume("host", true, true)));
  CHECK(may({readwrite}, with_volume("host", true, true)));
}

TEST_CASE("job_rights: a volume of CSI needs both rights, and a plugin of it its own") {
  const auto job = with_volume("csi", false);
  CHECK_FALSE(may({Capability::csi_mount_volume, readwrite}, job));
  CHECK_FALSE(may({Capability::plugin_read}, job));
  CHECK(may({Capability::csi_mount_volume, Capability::plugin_read}, job));
  const auto plugin = job_with(
      [](schema::TaskGroup::Builder group) { group.initTasks(1)[0].initCsiPluginConfig(); });
  CHECK_FALSE(may({}, plugin));
  CHECK(may({Capability::csi_register_plugin}, plugin));
}

namespace {

struct Pools : state::StateFixture {
  Random random{3};
  const cluster::EvalSeed seed{5'000'000'000, &random};
};

}  // namespace

TEST_CASE_FIXTURE(Pools, "job_rights: nothing is brought into a node pool that is denied") {
  const access::Asking asking{nomad::test::somebody([](auto needed, const access::Target& target) {
                                return needed != access::Capability::node_pool_use
                                       || target.node_pool != "gpu";
                              }),
                              access::Capability::submit_job};
  const auto refused = [](const auto& result) {
    return result.has_error() && result.error().code == Errc::permission_denied;
  };
  const auto in_pool = [](const char* pool) {
    Draft<schema::Job> draft;
    draft->setId("web");
    draft->setNamespace("default");
    draft->setType("service");
    draft->setNodePool(pool);
    draft->initTaskGroups(1)[0].setName("api");
    return draft.freeze();
  };
  CHECK(refused(cluster::decide_register(now(), asking, {.job = in_pool("gpu")}, seed)));
  CHECK(cluster::decide_register(now(), asking, {.job = in_pool("default")}, seed).has_value());

  run([](auto command) { command.initNodePoolUpsert().setName("gpu"); });
  register_job({.pool = "gpu"});
  CHECK(refused(cluster::decide_evaluate(now(), asking, "default", "web", false, seed)));
  const auto scaled = [&](std::optional<std::int64_t> count) {
    return cluster::decide_scale(
        now(), asking, {.ns = "default", .job_id = "web", .group = "api", .count = count}, 0, seed);
  };
  CHECK(refused(scaled(1)));
  CHECK(scaled({}).has_value());           // a note only
  register_job({.groups = {{"api", 3}}});  // in another pool
  CHECK(scaled(1).has_value());
  CHECK(refused(cluster::decide_revert(now(), asking, "default", "web", 0, {}, 0, seed)));
  CHECK(cluster::decide_deregister(now(), asking, "default", "web", false, 0, seed).has_value());

  register_job({.id = "nightly", .pool = "gpu", .periodic = true});
  CHECK(refused(cluster::decide_periodic_launch(now(), asking, "default", "nightly", seed)));
  run([this](auto command) {
    auto job = command.initJobRegister().initJob();
    fill(job, state::JobSpec{.id = "each", .type = "batch", .pool = "gpu"});
    job.initParameterizedJob();
  });
  cluster::DispatchRequest request;
  request.ns = "default";
  request.job_id = "each";
  CHECK(refused(cluster::decide_dispatch(now(), asking, request, seed)));
}
