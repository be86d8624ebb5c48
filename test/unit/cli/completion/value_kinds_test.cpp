// What can stand behind a command or a flag.
#include "cli/completion/value_kinds.hpp"

#include <doctest/doctest.h>

using namespace nomad::cli;

namespace {

ValueKind kind_behind(std::string_view command, std::vector<std::string> words) {
  return kind_of_word(command, {.flags = {}, .words = std::move(words), .open_flag = {}});
}

}  // namespace

TEST_CASE("value kinds: by the command and how many words there are") {
  CHECK(kind_behind("job run", {}) == ValueKind::files);
  CHECK(kind_behind("job run", {"a"}) == ValueKind::nothing);
  CHECK(kind_behind("job stop", {"a", "b"}) == ValueKind::jobs);
  CHECK(kind_behind("job inspect", {}) == ValueKind::jobs);
  CHECK(kind_behind("job revert", {"a"}) == ValueKind::versions);
  CHECK(kind_behind("alloc logs", {"a"}) == ValueKind::tasks);
  CHECK(kind_behind("var get", {}) == ValueKind::variables);
  CHECK(kind_behind("var put", {"a"}) == ValueKind::files);
  CHECK(kind_behind("node pool info", {}) == ValueKind::node_pools);
  CHECK(kind_behind("version", {}) == ValueKind::nothing);
}

TEST_CASE("value kinds: with -job the first word is a job's") {
  const GivenWords given{.flags = {{"job", ""}}, .words = {}, .open_flag = {}};
  CHECK(kind_of_word("alloc logs", given) == ValueKind::jobs);
}

TEST_CASE("value kinds: of flags, some of which are of some commands alone") {
  CHECK(kind_of_flag("job status", "namespace") == ValueKind::namespaces);
  CHECK(kind_of_flag("job restart", "group") == ValueKind::groups);
  CHECK(kind_of_flag("deployment promote", "group") == ValueKind::nothing);
  CHECK(kind_of_flag("job run", "nothing-known") == ValueKind::nothing);
  CHECK(words_of_flag("log-level").size() == 6);
  CHECK(words_of_flag("address").empty());
}
