// Which cores the machine is told that tasks without cores of their own may use.
#include "actors/client/node/node_cpus.hpp"

#include "test/unit/actors/client/client_fixture.hpp"

using namespace nomad;
using namespace nomad::test;
using Strings = std::vector<std::string>;

namespace {

struct SharedCores : ClientFixture {
  Strings told;
  std::optional<Error> refusal_of_cores;
  std::vector<std::uint16_t> reservable{0, 1, 2, 3};

  SharedCores() {
    share_cpus = [this](const std::string& parent, const std::string& cpus) -> Result<> {
      CHECK(parent == "parent");
      told.push_back(cpus);
      if (refusal_of_cores) return *refusal_of_cores;
      return {};
    };
  }

  client::PluginCatalog plugins() override {
    auto made = ClientFixture::plugins();
    made.fingerprinters.emplace_back(host::NamedFingerprinter{
        "cores", [this](const host::FingerprintOptions&, host::NodeFacts& facts) {
          facts.reservable_cores = reservable;
          return Result<>{};
        }});
    return made;
  }

  void start_cores(bool durable = false) {
    auto made = options();
    made.cgroup_parent = "parent";
    start(durable, made);
  }

  /// A task that runs for a minute on `core`.
  void assign_pinned(int number, std::uint16_t core) {
    const auto job = make_job({.id = fmt::format("job-{}", number),
                               .type = "batch",
                               .tasks = {{.config = R"({"run_for":"1m"})"}}});
    assign(changed(make_alloc(job, number), 2,
                   [core](auto& draft) {
                     auto task = draft.getAllocatedResources().getTasks()[0].getValue();
                     task.getCpu().setReservedCores({core});
                   }),
           job);
  }
};

}  // namespace

TEST_CASE_FIXTURE(SharedCores,
                  "node cpus: the machine is told what is left, as allocations come and go") {
  start_cores();
  CHECK(told == Strings{"0-3"});
  const auto job = make_job({});
  assign(make_alloc(job, 9), job);
  CHECK(told == Strings{"0-3"});

  assign_pinned(1, 1);
  advance(1s);
  assign_pinned(2, 2);
  advance(1s);
  CHECK(told == Strings{"0-3", "0,2-3", "0,3"});
  advance(2min);
  CHECK(status(1) == schema::ClientStatus::COMPLETE);
  CHECK(told.back() == "0-3");
}

TEST_CASE_FIXTURE(SharedCores, "node cpus: a stopped allocation gives its cores back") {
  start_cores();
  assign_pinned(1, 0);
  advance(1s);
  CHECK(told.back() == "1-3");
  stop_alloc(1, 3);
  advance(10s);
  CHECK(told.back() == "0-3");
}

TEST_CASE_FIXTURE(SharedCores, "node cpus: the next agent does not share what runs reserved") {
  start_cores(true);
  assign_pinned(1, 1);
  advance(1s);
  crash();
  told.clear();

  start_cores(true);
  CHECK(told == Strings{"0,2-3"});
  advance(2min);
  CHECK(told == Strings{"0,2-3", "0-3"});
}

TEST_CASE_FIXTURE(SharedCores,
                  "node cpus: what could not be written is tried with the next change") {
  refusal_of_cores = Error{Errc::unavailable, "read-only"};
  start_cores();
  CHECK(told == Strings{"0-3"});
  assign_pinned(1, 1);
  advance(1s);
  CHECK(told == Strings{"0-3", "0,2-3"});
  CHECK(status(1) == schema::ClientStatus::RUNNING);
  const auto job = make_job({});
  refusal_of_cores.reset();
  assign(make_alloc(job, 9), job);
  advance(1s);
  CHECK(told == Strings{"0-3", "0,2-3", "0,2-3"});
}

TEST_CASE_FIXTURE(SharedCores,
                  "node cpus: a machine of which no core can be reserved is told nothing") {
  reservable.clear();
  start_cores();
  assign_pinned(1, 1);
  advance(1s);
  CHECK(told.empty());
}
