// What nodes hear of services and variables: at once, when something changes, and never more often.
#include "actors/server/data/data_endpoint.hpp"

#include "runtime/base/clock.hpp"
#include "runtime/security/variable_items.hpp"
#include "test/support/door.hpp"
#include "test/unit/actors/server/server_fixture.hpp"

using namespace nomad;
using namespace nomad::server;
using namespace std::chrono_literals;
using templates::ClusterQuery;
using Kind = ClusterQuery::Kind;

namespace {

const ClusterQuery app{.kind = Kind::variable, .name_space = "default", .name = "app"};
const ClusterQuery names{.kind = Kind::services, .name_space = "default"};

struct DataFixture : test::ServerFixture {
  std::shared_ptr<security::Keyring> keyring
      = security::Keyring::open({.server_id = "one"}).value();
  std::shared_ptr<raft::LeaderLease> lease = std::make_shared<raft::LeaderLease>();
  NodeDoor endpoint = adopt(spawn_data_endpoint(system(), store, keyring, lease, false));
  Object<schema::RootKey> key
      = keyring->make_root_key("11111111-2222-4333-8444-555555555555", 1, {keyring->holder()});

  DataFixture() {
    lease->set(raft::LeaderLease::unlimited);
    write([this](auto command) { command.initRootKeyUpsert().setKey(*key); });
  }

  void put(const std::string& path, const std::string& value) {
    const auto sealed = keyring->seal_variable(state().active_root_key(), "default", path,
                                               security::encode_items({{"k", value}}), 1);
    REQUIRE(sealed.has_value());
    write([&](auto command) {
      auto apply = command.initVariableApply();
      apply.setOperation(schema::VariableOperation::SET);
      apply.setVariable(**sealed);
    });
  }

  void put_service(const char* id, const char* name) {
    write([&](auto command) {
      auto service = command.initServiceUpsert().initServices(1)[0];
      service.setId(id);
      service.setServiceName(name);
      service.setNamespace("default");
    });
  }

  Answer<door::Reply> watch(const ClusterQuery& query,
                            std::uint64_t known,
                            const char* node = "n1") {
    return ask<door::Reply>(endpoint, test::watch_data(node, query, known));
  }

  test::NodeData now_of(const ClusterQuery& query) {
    const auto answer = watch(query, 0);
    REQUIRE((answer->has_value() && (*answer)->has_value()));
    return test::data_in(***answer);
  }

  static std::string value_of(const test::NodeData& data) {
    if (!data.items) return "nothing";
    const auto items = security::decode_items(*data.items);
    return items && items->size() == 1 ? std::string{items->front().second} : "wrong";
  }
};

}  // namespace

TEST_CASE_FIXTURE(DataFixture, "data_endpoint: who has nothing is answered at once, opened") {
  CHECK(now_of(app).variables.empty());
  put("app", "secret");
  const auto data = now_of(app);
  CHECK(data.variables.size() == 1);
  CHECK(value_of(data) == "secret");
}

TEST_CASE_FIXTURE(DataFixture, "data_endpoint: who has the newest waits for the next") {
  put("app", "old");
  const auto known = now_of(app).digest;
  const auto first = watch(app, known);
  const auto other = watch(app, known, "n2");
  CHECK_FALSE(first->has_value());
  put("application", "x");
  CHECK_FALSE(first->has_value());
  put("app", "new");
  REQUIRE((first->has_value() && other->has_value()));
  CHECK(value_of(test::data_in(***first)) == "new");
  CHECK(value_of(test::data_in(***other)) == "new");
}

TEST_CASE_FIXTURE(DataFixture,
                  "data_endpoint: a question ends with its time, and with the next one") {
  const auto known = now_of(app).digest;
  const auto first = watch(app, known);
  const auto second = watch(app, known);
  REQUIRE(first->has_value());
  CHECK(test::data_in(***first).digest == known);
  CHECK_FALSE(second->has_value());
  advance(301s);
  REQUIRE(second->has_value());
  CHECK(test::data_in(***second).digest == known);
}

TEST_CASE_FIXTURE(DataFixture, "data_endpoint: changes of long answers are gathered") {
  const auto known = now_of(names).digest;
  const auto answer = watch(names, known);
  put_service("a", "front");
  put_service("b", "back");
  CHECK_FALSE(answer->has_value());
  advance(50ms);
  REQUIRE(answer->has_value());
  CHECK(test::data_in(***answer).services.size() == 2);
}

TEST_CASE_FIXTURE(DataFixture, "data_endpoint: without the lease nobody is answered") {
  lease->set(0);
  const auto answer = watch(app, 0);
  REQUIRE(answer->has_value());
  CHECK((*answer)->error().code == Errc::no_leader);
}

TEST_CASE_FIXTURE(DataFixture, "data_endpoint: what templates can't follow is refused") {
  const auto answer = watch({.kind = Kind{9}}, 0);
  REQUIRE(answer->has_value());
  CHECK((*answer)->error() == Error{Errc::invalid_argument, "templates can't follow that"});
}

namespace {

/// An endpoint that judges, and the job "web" with an allocation "a" on the node "n1".
struct JudgedFixture : DataFixture {
  NodeDoor judging = adopt(spawn_data_endpoint(system(), store, keyring, lease, true));
  const ClusterQuery all{.kind = Kind::variables, .name_space = "*"};

  JudgedFixture() {
    write([](auto command) {
      auto job = command.initJobRegister().initJob();
      job.setId("web");
      job.setNamespace("default");
      job.setType("service");
      job.initTaskGroups(1)[0].setName("api");
    });
    place("a", "n1");
    put("nomad/jobs/web", "own");
    put("app", "another's");
  }

  void place(const char* id, const char* node) {
    write([&](auto command) {
      auto alloc = command.initPlanResults().initPlans(1)[0].initPlaced(1)[0];
      alloc.setId(id);
      alloc.setNamespace("default");
      alloc.setJobId("web");
      alloc.setTaskGroup("api");
      alloc.setNodeId(node);
      alloc.setJobCreateIndex(state().job("default", "web")->getCreateIndex());
    });
    REQUIRE(state().alloc(id));
  }

  Answer<door::Reply> watch_by(const ClusterQuery& query,
                               std::uint64_t known,
                               const char* node,
                               const char* alloc) {
    return ask<door::Reply>(judging, test::watch_data(node, query, known, alloc, "server"));
  }

  std::string says(const ClusterQuery& query, const char* node, const char* alloc) {
    const auto answer = watch_by(query, 0, node, alloc);
    REQUIRE(answer->has_value());
    return (*answer)->has_value() ? value_of(test::data_in(***answer)) : (*answer)->error().what;
  }

  /// Of all variables.
  std::uint64_t known_to(const char* node, const char* alloc) {
    const auto answer = watch_by(all, 0, node, alloc);
    REQUIRE((answer->has_value() && (*answer)->has_value()));
    return test::data_in(***answer).digest;
  }
};

}  // namespace

TEST_CASE_FIXTURE(JudgedFixture, "data_endpoint: with ACLs on, tasks read what is theirs") {
  put_service("s", "front");
  const ClusterQuery own{.kind = Kind::variable, .name_space = "default", .name = "nomad/jobs/web"};
  CHECK(says(own, "n1", "a") == "own");
  CHECK(says(own, "n2", "a") == "Permission denied");
  CHECK(says(own, "n1", "") == "Permission denied");
  CHECK(says(app, "n1", "a") == "Permission denied");
  CHECK(says(names, "n1", "a") == "nothing");
  CHECK(says(names, "n2", "a") == "Permission denied");
  const auto list = watch_by(all, 0, "n1", "a");
  REQUIRE((list->has_value() && (*list)->has_value()));
  const auto seen = test::data_in(***list);
  CHECK(seen.variables.size() == 1);

  // Changes of what he may not see are none to him.
  const auto held = watch_by(all, seen.digest, "n1", "a");
  put("app", "new");
  advance(50ms);
  CHECK_FALSE(held->has_value());
  put("nomad/jobs/web", "new");
  advance(50ms);
  CHECK(held->has_value());
}

TEST_CASE_FIXTURE(JudgedFixture,
                  "data_endpoint: with ACLs on, a change is told by each one's rights") {
  place("b", "n2");
  const auto nobody = watch_by(all, known_to("n0", ""), "n0", "");
  const auto first = watch_by(all, known_to("n1", "a"), "n1", "a");
  const auto second = watch_by(all, known_to("n2", "b"), "n2", "b");
  put("nomad/jobs/web", "newest");
  advance(50ms);
  CHECK_FALSE(nobody->has_value());
  for (const auto& each : {first, second}) {
    REQUIRE((each->has_value() && (*each)->has_value()));
    CHECK(test::data_in(***each).variables.size() == 1);
  }
}

TEST_CASE_FIXTURE(JudgedFixture,
                  "data_endpoint: a policy that is attached meanwhile wakes whose it is") {
  const auto waiting = watch_by(all, known_to("n1", "a"), "n1", "a");
  const auto still_nobody = watch_by(all, known_to("n0", ""), "n0", "");
  write([](auto command) {
    auto policy = command.initAclPolicyUpsert();
    policy.setName("attached");
    policy.setRules(
        R"(namespace "default" { variables { path "app" { capabilities = ["read"] } } })");
    policy.initJobAcl().setNamespace("default");
    policy.getJobAcl().setJobId("web");
  });
  advance(50ms);
  REQUIRE((waiting->has_value() && (*waiting)->has_value()));
  CHECK(test::data_in(***waiting).variables.size() == 2);
  CHECK_FALSE(still_nobody->has_value());
}
