#include "runtime/access/verdicts.hpp"

#include <doctest/doctest.h>

#include "test/support/anybody.hpp"

using namespace nomad;
using namespace nomad::access;

namespace {

/// Allows namespace `ns`, and counts how often it is asked.
Principal allowed_in(const std::string& ns, int& asked) {
  return test::somebody([ns, &asked](Capability, const Target& target) {
    ++asked;
    return target.ns == ns;
  });
}

}  // namespace

TEST_CASE("verdicts: each namespace is judged once, for each capability") {
  int asked = 0;
  const auto who = allowed_in("a", asked);
  Verdicts verdicts{who};

  for (int row = 0; row < 100; ++row) {
    CHECK(verdicts.judge(Capability::read_job, "a").has_value());
    CHECK(verdicts.judge(Capability::read_job, "b").error().what == "Permission denied");
  }
  CHECK(asked == 2);
  CHECK(verdicts.judge(Capability::list_jobs, "a").has_value());
  CHECK(asked == 3);
  CHECK(verdicts.all().size() == 3);
}

TEST_CASE("verdicts: they hold for those of whom the same is true") {
  int asked = 0;
  const auto who = allowed_in("a", asked);
  Verdicts verdicts{who};
  static_cast<void>(verdicts.judge(Capability::read_job, "a"));
  static_cast<void>(verdicts.judge(Capability::read_job, "b"));

  CHECK(are_same_for(allowed_in("a", asked), verdicts.all()));
  CHECK_FALSE(are_same_for(allowed_in("b", asked), verdicts.all()));
  CHECK_FALSE(are_same_for(test::anybody_at(), verdicts.all()));  // who may see more
  CHECK(are_same_for(allowed_in("b", asked), {}));
}
