// Lines of the log as they are written.
#include "runtime/base/log.hpp"

#include <doctest/doctest.h>

using namespace nomad;

namespace {

/// The line of an error, behind its time.
std::string written(std::string_view message, log::Fields fields) {
  std::string seen;
  const auto id = log::add_listener(log::Level::error,
                                    [&seen](log::Level, const std::string& line) { seen = line; });
  log::error("test", message, fields);
  log::remove_listener(id);
  return seen.substr(seen.find('['));
}

}  // namespace

TEST_CASE("log: one event is one line, and no name in it reaches a terminal") {
  CHECK(written("job \"a\nb\033[2J\xc2\x9b\x7f\" gr\xc3\xbc\xc3\x9f\t.", {})
        == "[ERROR] test: job \"a b\\x1b[2J\\u009b\\x7f\" gr\xc3\xbc\xc3\x9f\t.");
  CHECK(written("it failed", {{"job", "a\nb\033[2J"}})
        == "[ERROR] test: it failed: job=\"a b\\x1b[2J\"");
}

TEST_CASE("log: fields stand behind the message, and can't be taken for others") {
  CHECK(written("it failed", {{"alloc", "8d2f"}, {"count", 3U}, {"delay", std::string{"-1s"}}})
        == "[ERROR] test: it failed: alloc=8d2f count=3 delay=-1s");
  CHECK(written("it failed", {{"task", ""}, {"error", Error{Errc::io, "no \"space\" left"}}})
        == "[ERROR] test: it failed: error=\"no \\\"space\\\" left\"");
  CHECK(written("it failed", {{"job", "a=b"}, {"path", "c\\d"}})
        == "[ERROR] test: it failed: job=\"a=b\" path=\"c\\\\d\"");
  CHECK(written("it failed", {{"task", ""}}) == "[ERROR] test: it failed");
}

TEST_CASE("log: with log_json a field is a member") {
  const auto member = [](const log::Field& field) {
    std::string line;
    field.append_to(line, true);
    return line;
  };
  CHECK(member({"alloc", "8\"d\n"}) == R"(,"alloc":"8\"d\u000a")");
  CHECK(member({"count", -3}) == R"(,"count":-3)");
}
