// Giving volumes back, step by step. test/properties/volumes has random lives of them.
#include "runtime/cluster/volumes/volume_releases.hpp"

#include "test/unit/runtime/state/volumes/volume_fixture.hpp"

using namespace nomad;
using namespace nomad::test;
using namespace std::chrono_literals;
using cluster::VolumeReleases;
using Action = VolumeReleases::Action;
using State = schema::CsiClaimState;

namespace {

struct Releases : VolumeState {
  VolumeReleases releases;
  VolumeReleases::TimePoint now_is{};

  Releases() {
    add_plugin({.has_controller = true});
    register_job();
    place({{.id = "alloc"}, {.id = "second"}});
    register_volume(
        {.access = schema::CsiAccessMode::MULTI_NODE_MULTI_WRITER, .controller_required = true});
    take("alloc");
  }

  void take(const std::string& alloc) {
    claim({.alloc = alloc, .access = schema::CsiAccessMode::MULTI_NODE_MULTI_WRITER});
  }

  std::vector<VolumeReleases::Step> due() { return releases.take_due(now(), now_is, 10); }

  /// The action that is due; `none` if nothing is.
  Action next() {
    const auto steps = due();
    if (steps.empty()) return Action::none;
    last = steps.front();
    return last.action;
  }

  void reach(State state) {
    claim({.alloc = "alloc",
           .access = schema::CsiAccessMode::MULTI_NODE_MULTI_WRITER,
           .state = state});
    releases.done(last);
  }

  VolumeReleases::Step last;
};

}  // namespace

TEST_CASE_FIXTURE(Releases, "volume releases: a claim is given back step by step") {
  CHECK(next() == Action::none);
  report("alloc", schema::ClientStatus::COMPLETE);
  CHECK(next() == Action::none);  // its node does it by itself
  CHECK(releases.next() == now_is + VolumeReleases::own_time);
  now_is += VolumeReleases::own_time;
  CHECK(next() == Action::give_up);
  CHECK(next() == Action::none);  // it is out
  reach(State::UNPUBLISHING);
  CHECK(next() == Action::detach_node);
  reach(State::NODE_DETACHED);
  CHECK(next() == Action::detach_controller);
  reach(State::CONTROLLER_DETACHED);
  CHECK(next() == Action::none);
  CHECK_FALSE(releases.next());
}

TEST_CASE_FIXTURE(Releases, "volume releases: what fails is tried again after pauses that grow") {
  report("alloc", schema::ClientStatus::COMPLETE);
  due();
  now_is += VolumeReleases::own_time;
  CHECK(next() == Action::give_up);
  reach(State::UNPUBLISHING);
  for (unsigned failures = 1; failures < 5; ++failures) {
    CHECK(next() == Action::detach_node);
    releases.failed(last, now_is);
    CHECK(next() == Action::none);
    CHECK(*releases.next() - now_is == VolumeReleases::pause_after(failures));
    now_is = *releases.next();
  }
  CHECK(VolumeReleases::pause_after(1) == 1s);
  CHECK(VolumeReleases::pause_after(4) == 8s);
  CHECK(VolumeReleases::pause_after(1'000'000) == VolumeReleases::longest_pause);
}

TEST_CASE_FIXTURE(Releases,
                  "volume releases: of a node that is gone nothing is asked, and at once") {
  run([](auto command) {
    auto update = command.initNodeStatusUpdate();
    update.setNodeId("node");
    update.setStatus(schema::NodeStatus::DOWN);
  });
  stop("alloc", schema::ClientStatus::LOST);
  CHECK(next() == Action::give_up);
  reach(State::UNPUBLISHING);
  CHECK(next() == Action::skip_node);
  reach(State::NODE_DETACHED);
  CHECK(next() == Action::detach_controller);
}

TEST_CASE_FIXTURE(Releases, "volume releases: what another claim of the node uses stays attached") {
  take("second");
  report("alloc", schema::ClientStatus::COMPLETE);
  claim({.alloc = "alloc",
         .access = schema::CsiAccessMode::MULTI_NODE_MULTI_WRITER,
         .state = State::NODE_DETACHED});
  CHECK(next() == Action::free);
}

TEST_CASE_FIXTURE(Releases, "volume releases: a plugin's controller is asked one thing at a time") {
  take("second");
  for (const auto* alloc : {"alloc", "second"}) {
    report(alloc, schema::ClientStatus::COMPLETE);
    claim({.alloc = alloc,
           .access = schema::CsiAccessMode::MULTI_NODE_MULTI_WRITER,
           .state = State::NODE_DETACHED});
  }
  const auto first = due();
  REQUIRE(first.size() == 1);
  CHECK(first[0].action == Action::detach_controller);
  CHECK(due().empty());
  releases.failed(first[0], now_is);
  CHECK(due().size() == 1);  // the other's turn
}

TEST_CASE_FIXTURE(Releases, "volume releases: a new leader begins each step anew") {
  report("alloc", schema::ClientStatus::COMPLETE);
  due();
  now_is += VolumeReleases::own_time;
  CHECK(next() == Action::give_up);
  releases.clear();
  CHECK_FALSE(releases.next());
  CHECK(next() == Action::none);
  now_is += VolumeReleases::own_time;
  CHECK(next() == Action::give_up);
}

TEST_CASE("volume releases: without a controller a claim goes when its node has let go") {
  CHECK(VolumeReleases::next_action({.state = State::NODE_DETACHED}) == Action::free);
  CHECK(VolumeReleases::next_action({.state = State::TAKEN}) == Action::none);
  CHECK(VolumeReleases::next_action({.state = State::CONTROLLER_DETACHED}) == Action::free);
}
