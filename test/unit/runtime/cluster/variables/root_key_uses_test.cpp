// Which root keys are removed without force: none by which an identity that has an end may be
// shown.
#include "runtime/cluster/variables/root_key_uses.hpp"

#include <doctest/doctest.h>

#include "runtime/cluster/variable_commands.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/state/store.hpp"

using namespace nomad;
using namespace nomad::cluster;
using schema::RootKeyState;

namespace {

constexpr std::int64_t second = 1'000'000'000;
constexpr std::int64_t hour = 3600 * second;
/// 2026-01-01T00:00:00Z
constexpr std::int64_t rotated_at = 1'767'225'600 * second;

struct KeysAndJobs {
  state::Store store;
  std::uint64_t index = 10;

  void run(const Object<schema::Command>& command) {
    const auto outcome = store.apply(++index, *command);
    REQUIRE_FALSE(outcome.error);
    store.publish();
  }

  void put_key(std::string_view id, RootKeyState state, std::int64_t created) {
    Draft<schema::RootKey> key;
    key->setKeyId(text(id));
    key->setState(state);
    key->setCreateTime(created);
    run(put_root_key(key.freeze(), false));
  }

  /// With an identity of a task, of one of its services and of one of its group's.
  void put_job(std::string_view id,
               std::int64_t of_task,
               std::int64_t of_service = 0,
               std::int64_t of_group = 0) {
    Draft<schema::Command> command;
    auto job = command->initJobRegister().initJob();
    job.setId(text(id));
    job.setNamespace("default");
    auto group = job.initTaskGroups(1)[0];
    group.initServices(1)[0].initIdentity().setTtl(of_group);
    auto task = group.initTasks(1)[0];
    task.initIdentities(2)[1].setTtl(of_task);
    task.initServices(1)[0].initIdentity().setTtl(of_service);
    run(command.freeze());
  }

  void remove(std::string_view id) {
    Draft<schema::Command> command;
    auto deregister = command->initJobDeregister();
    deregister.setNamespace("default");
    deregister.setJobId(text(id));
    deregister.setPurge(true);
    run(command.freeze());
  }

  /// "" is none.
  std::string refusal(std::string_view id, std::int64_t now, bool is_forced = false) const {
    const auto decision = decide_delete_root_key(
        store.snapshot(), access::Asking::of_cluster("test"), id, is_forced, now);
    return decision ? "" : decision.error().what;
  }
};

}  // namespace

TEST_CASE("root key uses: a key is not removed while what it has signed may be shown") {
  KeysAndJobs cluster;
  cluster.put_key("k1", RootKeyState::ACTIVE, 0);
  cluster.put_job("web", hour);
  cluster.put_key("k2", RootKeyState::ACTIVE, rotated_at);

  CHECK(cluster.refusal("k1", rotated_at + hour - 1)
        == "root key in use, cannot delete: identities that k1 has signed last until "
           "2026-01-01T01:00:00Z (the longest ttl of a job's is 1h0m0s), and whoever verifies them "
           "refuses them without it; -force removes it all the same");
  CHECK(cluster.refusal("k1", rotated_at + hour - 1, true).empty());
  CHECK(cluster.refusal("k1", rotated_at + hour).empty());
  // Applying refuses the active one.
  CHECK(cluster.refusal("k2", rotated_at).empty());
  CHECK(cluster.refusal("none", rotated_at).empty());
}

TEST_CASE("root key uses: the longest ttl of any job's that runs counts, up to what may be") {
  KeysAndJobs cluster;
  cluster.put_key("k1", RootKeyState::ACTIVE, 0);
  CHECK(longest_ttl_of_jobs(cluster.store.snapshot()) == 0);
  cluster.put_job("a", hour, 2 * hour);
  CHECK(longest_ttl_of_jobs(cluster.store.snapshot()) == 2 * hour);
  cluster.put_job("b", 0, 0, 3 * hour);
  CHECK(longest_ttl_of_jobs(cluster.store.snapshot()) == 3 * hour);
  cluster.remove("b");
  CHECK(longest_ttl_of_jobs(cluster.store.snapshot()) == 2 * hour);
  cluster.put_job("c", 9000 * hour);
  CHECK(longest_ttl_of_jobs(cluster.store.snapshot()) == 720 * hour);
  cluster.put_key("k2", RootKeyState::ACTIVE, rotated_at);
  CHECK(cluster.refusal("k1", rotated_at + 720 * hour).empty());
}

TEST_CASE("root key uses: a key that never signed, and jobs without ends, hold nobody up") {
  KeysAndJobs cluster;
  cluster.put_key("k1", RootKeyState::ACTIVE, 0);
  cluster.put_job("web", 0);
  cluster.put_key("k2", RootKeyState::ACTIVE, rotated_at);
  CHECK(cluster.refusal("k1", rotated_at).empty());

  cluster.put_job("web", hour);
  cluster.put_key("next", RootKeyState::PREPUBLISHED, rotated_at + 1);
  CHECK(cluster.refusal("next", rotated_at + 2).empty());
  // The next one does not sign yet: it ends nothing.
  CHECK(
      lives_on(cluster.store.snapshot(), cluster.store.snapshot().root_key("k1"), rotated_at)->until
      == rotated_at + hour);
}
