#include "runtime/cluster/job_rights.hpp"

#include <functional>
#include <set>
#include <string>

#include <doctest/doctest.h>

#include "runtime/object/draft.hpp"
#include "test/support/anybody.hpp"

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

/// Whether whoever has `given`, of namespace "prod" and volume "certs", may submit the job.
bool may(const std::set<Capability>& given, const Object<schema::Job>& job) {
  const auto who = test::somebody([given](Capability needed, const access::Target& target) {
    if (access::is_namespaced(needed) && target.ns != "prod") return false;
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
