#include "runtime/host/users.hpp"

#include <algorithm>

#include <doctest/doctest.h>

#include "runtime/host/signals.hpp"

using namespace nomad;
using namespace nomad::host;

TEST_CASE("users: finds accounts by name and number") {
  auto root = find_user("root");
  REQUIRE_FALSE(root.has_error());
  CHECK(root->uid == 0);
  CHECK(root->home == "/root");
  CHECK(std::find(root->groups.begin(), root->groups.end(), root->gid) != root->groups.end());
  CHECK(find_user("0")->name == "root");
  CHECK(find_user("no such user").error()
        == Error{Errc::invalid_argument, "unknown user \"no such user\""});
  CHECK(find_user("no such user").has_error());  // remembered
  CHECK(find_user("").has_error());
}

TEST_CASE("signals: names to numbers") {
  CHECK(*parse_signal("SIGTERM") == 15);
  CHECK(*parse_signal("sigkill") == 9);
  CHECK(*parse_signal("SIGNULL") == 0);
  CHECK(parse_signal("TERM").error().what.substr(0, 55)
        == "invalid signal \"TERM\" - valid signals are [\"SIGABRT\" \"S");
  std::string all = signal_names();
  CHECK(all.substr(0, 15) == "SIGABRT,SIGALRM");
  CHECK(std::count(all.begin(), all.end(), ',') == 27);
}
