// Jobs of several regions: copies, first deployments, and the order of a deployment.
#include "runtime/cluster/regions/multiregion.hpp"

#include <doctest/doctest.h>

#include "runtime/cluster/job_commands.hpp"
#include "runtime/object/entries.hpp"
#include "test/support/anybody.hpp"
#include "test/unit/runtime/state/fixture.hpp"

using namespace nomad;
using cluster::next_moves;
using schema::DeploymentState;

namespace {

Object<schema::Job> job_of(const char* block, const state::JobSpec& spec = {}) {
  Draft<schema::Job> draft;
  state::fill(*draft, spec);
  draft->setMultiregion(block);
  return draft.freeze();
}

constexpr const char* three_regions
    = R"({"Strategy":{"MaxParallel":1,"OnFailure":""},"Regions":[{"Name":"a","Count":2,)"
      R"("Datacenters":["a1"],"NodePool":"gpu","Meta":{"k":"of a"}},)"
      R"({"Name":"b","Count":0},{"Name":"c","Count":1}]})";

constexpr auto pending = DeploymentState::PENDING;
constexpr auto running = DeploymentState::RUNNING;
constexpr auto blocked = DeploymentState::BLOCKED;
constexpr auto failed = DeploymentState::FAILED;
constexpr auto successful = DeploymentState::SUCCESSFUL;

/// Three regions, and what their deployments become.
struct RegionsDeployment {
  cluster::MultiregionBlock block;
  std::vector<cluster::RegionState> regions;

  RegionsDeployment(std::int64_t max_parallel,
                    const char* on_failure,
                    std::vector<std::optional<DeploymentState>> states) {
    block.max_parallel = max_parallel;
    block.on_failure = on_failure;
    const char* const names[] = {"a", "b", "c"};
    for (std::size_t i = 0; i < states.size(); ++i) {
      block.regions.push_back({.name = names[i]});
      regions.push_back({names[i], states[i]});
    }
  }

  /// "a running, b failed": what follows now.
  std::string next() const {
    std::string out;
    for (const auto& move : next_moves(block, regions))
      out += (out.empty() ? "" : ", ") + move.region + " "
             + std::to_string(static_cast<int>(move.status));
    return out;
  }

  /// Carries out what follows, again and again; a region that runs completes when nothing else is
  /// to be done. What all are at last.
  std::string finish() {
    for (int step = 0; step < 100; ++step) {
      const auto moves = next_moves(block, regions);
      for (const auto& move : moves)
        for (auto& region : regions)
          if (region.region == move.region) region.status = move.status;
      if (!moves.empty()) continue;
      const auto next = std::find_if(regions.begin(), regions.end(),
                                     [](const auto& region) { return region.status == running; });
      if (next == regions.end()) break;
      next->status = blocked;
    }
    CHECK(next_moves(block, regions).empty());
    std::string out;
    for (const auto& region : regions)
      out += std::to_string(static_cast<int>(*region.status)) + " ";
    return out;
  }
};

std::string code(DeploymentState state) {
  return std::to_string(static_cast<int>(state));
}

}  // namespace

TEST_CASE("multiregion: a region gets its own copy of the job") {
  const auto job = job_of(three_regions, {.groups = {{"zero", 0}, {"three", 3}}});
  Draft<schema::Job> with_meta{job};
  fill_entries(with_meta->initMeta(2), {{"k", "of the job"}, {"other", "kept"}});
  const auto block = cluster::multiregion_of(*job);
  REQUIRE(block.has_value());
  REQUIRE(block->regions.size() == 3);

  const auto copied = cluster::region_copy(with_meta.freeze(), block->regions[0]);

  CHECK(view(copied->getRegion()) == "a");
  CHECK(copied->getTaskGroups()[0].getCount() == 2);
  CHECK(copied->getTaskGroups()[1].getCount() == 3);
  CHECK(view(copied->getDatacenters()[0]) == "a1");
  CHECK(view(copied->getNodePool()) == "gpu");
  CHECK(find_text(copied->getMeta(), "k") == "of a");
  CHECK(find_text(copied->getMeta(), "other") == "kept");
}

TEST_CASE("multiregion: regions that a newer version doesn't name are dropped") {
  const auto before = cluster::multiregion_of(*job_of(three_regions));
  const auto now = cluster::multiregion_of(*job_of(R"({"Regions":[{"Name":"b"}]})"));
  CHECK(cluster::dropped_regions(*before, *now) == std::vector<std::string>{"a", "c"});
  CHECK(cluster::dropped_regions(*now, *before).empty());
  CHECK(cluster::multiregion_of(*job_of(""))->regions.empty());
  CHECK_FALSE(cluster::multiregion_of(*job_of("{")));
}

TEST_CASE("multiregion: what has deployments comes with one that waits, all else without") {
  Random random{5};
  const auto of = [&](const state::JobSpec& spec, bool parameterized = false) {
    Draft<schema::Job> draft{job_of(three_regions, spec)};
    draft->setPriority(70);
    if (parameterized) draft->initParameterizedJob();
    return cluster::first_deployment(draft.reader(), 0, random);
  };
  const auto made = of({});
  REQUIRE(made);
  CHECK(made->getIsMultiregion());
  CHECK(made->getStatus() == DeploymentState::INITIALIZING);
  CHECK(made->getEvalPriority() == 70);
  for (const auto* type : {"batch", "system", "sysbatch"})
    CHECK_FALSE(of({.type = type}));
  CHECK_FALSE(of({.periodic = true}));
  CHECK_FALSE(of({}, true));
  CHECK_FALSE(cluster::first_deployment(*job_of(""), 0, random));
}

TEST_CASE("multiregion: the log has the deployment with its version, in place of the last one") {
  state::StateFixture state;
  Random random{7};
  const auto register_it = [&] {
    Draft<schema::Job> job{job_of(three_regions)};
    job->setPriority(static_cast<std::int64_t>(state.index));  // another one each time
    const auto decision = cluster::decide_register(state.now(), nomad::test::anybody(),
                                                   {.job = job.freeze()}, {1'000, &random});
    REQUIRE(decision.has_value());
    Draft<schema::Command> command{decision->command};
    REQUIRE_FALSE(state.store.apply(++state.index, command.reader()).error);
    state.store.publish();
    return decision->eval_id;
  };
  register_it();
  const auto first = state.now().latest_deployment("default", "web");
  const auto eval_id = register_it();

  const auto job = state.now().job("default", "web");
  const auto second = state.now().latest_deployment("default", "web");
  REQUIRE(second);
  CHECK(second->getJobVersion() == 1);
  CHECK(second->getJobCreateIndex() == job->getCreateIndex());
  CHECK(second->getJobSpecModifyIndex() == job->getJobModifyIndex());
  CHECK(view(state.now().eval(eval_id)->getDeploymentId()) == view(second->getId()));
  const auto old = state.now().deployment(view(first->getId()));
  CHECK(old->getStatus() == DeploymentState::CANCELLED);
  CHECK(view(old->getStatusDescription()) == "Cancelled due to newer version of job");
}

TEST_CASE("multiregion: no region starts before all have accepted and their turn has come") {
  CHECK(RegionsDeployment{1, "", {pending, std::nullopt, pending}}.next().empty());
  CHECK(RegionsDeployment{1, "", {pending, pending, pending}}.next() == "a " + code(running));
  CHECK(RegionsDeployment{1, "", {running, pending, pending}}.next().empty());
  CHECK(RegionsDeployment{1, "", {blocked, pending, pending}}.next() == "b " + code(running));
  CHECK(RegionsDeployment{2, "", {pending, pending, pending}}.next()
        == "a " + code(running) + ", b " + code(running));
  CHECK(RegionsDeployment{0, "", {pending, pending, pending}}.next()
        == "a " + code(running) + ", b " + code(running) + ", c " + code(running));
  // Its groups are not worked out yet: it may not be moved, and those behind it wait.
  CHECK(RegionsDeployment{0, "", {DeploymentState::INITIALIZING, pending, pending}}.next().empty());
}

TEST_CASE("multiregion: when all are complete, the last one unblocks the others") {
  RegionsDeployment deployment{1, "", {blocked, blocked, blocked}};
  CHECK(deployment.next() == "c " + code(DeploymentState::UNBLOCKING));
  deployment.regions[2].status = DeploymentState::UNBLOCKING;
  CHECK(deployment.next() == "a " + code(successful) + ", b " + code(successful));
  for (const std::int64_t at_once : {0, 1, 2})
    CHECK(RegionsDeployment{at_once, "", {pending, pending, pending}}.finish()
          == code(successful) + " " + code(successful) + " " + code(successful) + " ");
}

TEST_CASE("multiregion: a failure takes along whom the strategy says") {
  CHECK(RegionsDeployment{1, "", {blocked, failed, pending}}.finish()
        == code(blocked) + " " + code(failed) + " " + code(failed) + " ");
  CHECK(RegionsDeployment{1, "fail_all", {blocked, failed, pending}}.finish()
        == code(failed) + " " + code(failed) + " " + code(failed) + " ");
  CHECK(RegionsDeployment{1, "fail_all", {successful, failed, pending}}.finish()
        == code(successful) + " " + code(failed) + " " + code(failed) + " ");
  CHECK(RegionsDeployment{1, "fail_local", {blocked, failed, pending}}.finish()
        == code(blocked) + " " + code(failed) + " " + code(blocked) + " ");
}
