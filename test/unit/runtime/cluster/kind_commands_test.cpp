// Putting and removing what a descriptor says enough of.
#include "runtime/cluster/kind_commands.hpp"

#include "test/support/access_policy.hpp"
#include "test/support/anybody.hpp"
#include "test/unit/runtime/state/fixture.hpp"

using namespace nomad;
using namespace nomad::state;

namespace {

/// A kind that has mistakes.
struct Badges : kind::NodePools {
  static std::vector<std::string> mistakes(Reader badge) {
    if (badge.getDescription().size() > 0) return {};
    return {"it says nothing"};
  }
};

Object<schema::NodePool> a_badge(std::string_view name, std::string_view description = "x") {
  Draft<schema::NodePool> draft;
  draft->setName(text(name));
  draft->setDescription(text(description));
  return draft.freeze();
}

}  // namespace

TEST_CASE("kind commands: one is put and removed by commands that the state takes") {
  StateFixture state;
  const auto who = nomad::test::anybody();

  const auto put = cluster::decide_put<Badges>(state.now(), who, *a_badge("a"));
  REQUIRE(put.has_value());
  CHECK_FALSE(state.store.apply(++state.index, *put->command).error);
  state.store.publish();
  CHECK(view(state.now().row<kind::NodePools>("a")->getDescription()) == "x");
  const auto gone = cluster::decide_remove<Badges>(state.now(), who, "a");
  REQUIRE(gone.has_value());
  CHECK_FALSE(state.store.apply(++state.index, *gone->command).error);
  state.store.publish();

  CHECK_FALSE(state.now().row<kind::NodePools>("a"));
}

TEST_CASE("kind commands: mistakes and conditions refuse before anything is written") {
  StateFixture state;
  const auto who = nomad::test::anybody();

  CHECK(cluster::decide_put<Badges>(state.now(), who, *a_badge("a", "")).error()
        == Error{Errc::invalid_argument, "1 error occurred:\n\t* it says nothing\n\n"});
  CHECK(cluster::decide_put<Badges>(state.now(), who, *a_badge("all")).error().code
        == Errc::rejected);
  CHECK(cluster::decide_remove<Badges>(state.now(), who, "all").error().code == Errc::rejected);
  CHECK(cluster::decide_remove<Badges>(state.now(), who, "none").error()
        == Error{Errc::not_found, "node pool none not found"});
}

TEST_CASE("kind commands: who may not is refused") {
  StateFixture state;
  const auto nobody
      = nomad::test::asking_with(nomad::test::nothing, access::Capability::management);

  CHECK(cluster::decide_put<Badges>(state.now(), nobody, *a_badge("a")).error().code
        == Errc::permission_denied);
  CHECK(cluster::decide_remove<Badges>(state.now(), nobody, "all").error().code
        == Errc::permission_denied);
}
