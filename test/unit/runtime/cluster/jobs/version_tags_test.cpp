// Tags of versions: which version gets one, and what is refused.
#include "runtime/cluster/jobs/version_tags.hpp"

#include <doctest/doctest.h>

#include "test/support/anybody.hpp"
#include "test/unit/runtime/state/fixture.hpp"

using namespace nomad;
using cluster::TagDecision;
using cluster::TagRequest;

namespace {

struct Tagging : state::StateFixture {
  Random random{3};
  const cluster::EvalSeed seed{5'000'000'000, &random};

  Result<TagDecision> ask(TagRequest request) const {
    request.ns = "default";
    if (request.job_id.empty()) request.job_id = "web";
    return cluster::decide_tag_version(now(), nomad::test::anybody(), request, seed);
  }

  void write(const Result<TagDecision>& decision) {
    REQUIRE(decision.has_value());
    store.apply(++index, *decision->command);
    store.publish();
  }

  void tag(const std::string& name, std::optional<std::uint64_t> version = {}) {
    write(ask({.ns = {}, .job_id = {}, .name = name, .version = version}));
  }

  std::string refusal(TagRequest request) const {
    const auto decision = ask(std::move(request));
    return decision ? "none" : decision.error().what;
  }

  Result<TagDecision> untag(const std::string& name, const std::string& job = "web") const {
    return cluster::decide_untag_version(now(), nomad::test::anybody(), "default", job, name);
  }

  /// The tags of the versions, newest first; "-" for none.
  std::string tags() const {
    std::string joined;
    for (const auto& job : now().job_versions("default", "web"))
      joined += (job->hasVersionTag() ? copy(job->getVersionTag().getName()) : "-") + ' ';
    return joined;
  }
};

TagRequest named(std::string name) {
  return {.ns = {}, .job_id = {}, .name = std::move(name)};
}

}  // namespace

TEST_CASE_FIXTURE(Tagging, "version tags: the newest version, or the one that is named") {
  register_job();
  register_job();
  auto request = named("golden");
  request.description = "it works";
  const auto decision = ask(request);
  REQUIRE(decision.has_value());
  CHECK(decision->job_id == "web");
  CHECK(decision->command->getJobVersionTagging().getVersion() == 1);
  CHECK(view(decision->tag->getName()) == "golden");
  CHECK(view(decision->tag->getDescription()) == "it works");
  CHECK(decision->tag->getTaggedTime() == seed.now);
  write(decision);
  tag("first", 0);
  CHECK(tags() == "golden first ");
}

TEST_CASE_FIXTURE(Tagging, "version tags: a version has one, and gets another in its place") {
  register_job();
  tag("a");
  tag("a");
  tag("b");
  CHECK(tags() == "b ");
}

TEST_CASE_FIXTURE(Tagging, "version tags: one is of one version of the job") {
  register_job();
  register_job();
  register_job({.id = "other"});
  tag("a", 0);
  CHECK(refusal(named("a")) == "tag \"a\" already exists on a different version of job \"web\"");
  auto elsewhere = named("a");
  elsewhere.job_id = "other";
  CHECK(ask(elsewhere).has_value());
}

TEST_CASE_FIXTURE(Tagging,
                  "version tags: what is not there, and names that are none, are refused") {
  CHECK(refusal(named("a")) == "job \"web\" not found");
  register_job();
  auto unknown = named("a");
  unknown.version = 3;
  CHECK(refusal(unknown) == "job \"web\" version 3 not found");
  CHECK(refusal(named("")) == "the tag has no name");
  CHECK(refusal(named(std::string(1025, 'a')))
        == "the tag's name has 1025 bytes, at most 1024 are taken");
  CHECK(refusal(named("a\nb")) == "the tag's name has a control character in \"a\\nb\"");
  auto long_winded = named("a");
  long_winded.description = std::string(1001, 'd');
  CHECK(refusal(long_winded)
        == "Tagged version description must be under 1000 characters, currently 1001");
  long_winded.description.pop_back();
  CHECK(refusal(long_winded) == "none");
  long_winded.description = std::string{"a\0b", 3};
  CHECK(refusal(long_winded) == "the tag's description contains a null character");
}

TEST_CASE_FIXTURE(Tagging, "version tags: a job has a bounded number of them") {
  register_job();
  for (std::size_t i = 0; i < cluster::most_tagged_versions; ++i) {
    tag("t" + std::to_string(i));
    register_job();
  }
  CHECK(refusal(named("one more"))
        == "job \"web\" has 1000 versions with a tag, which is the most: take one away first");
  auto again = named("another name");
  again.version = 7;
  CHECK(refusal(again) == "none");
}

TEST_CASE_FIXTURE(Tagging, "version tags: one is taken away, and only one that is there") {
  register_job();
  tag("a");
  register_job();
  CHECK(untag("b").error().what == "tag \"b\" not found on job \"web\"");
  CHECK(untag("b").error().code == Errc::not_found);
  CHECK(untag("a", "gone").error().what == "job \"gone\" not found");
  const auto decision = untag("a");
  REQUIRE(decision.has_value());
  CHECK_FALSE(decision->tag);
  write(decision);
  CHECK(tags() == "- - ");
}
