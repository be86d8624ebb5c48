#include "runtime/host/users.hpp"

#include <algorithm>
#include <string>
#include <vector>

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

TEST_CASE("users: numbers that no account has, and groups that give no more rights") {
  const auto nobody = find_user("nobody").value();
  const auto stranger = find_user("543210");
  REQUIRE_MESSAGE(stranger.has_value(), stranger.error().what);
  CHECK(stranger->uid == 543210);
  CHECK(stranger->gid == nobody.gid);
  CHECK(stranger->name.empty());
  CHECK(stranger->home == "/");

  const auto grouped = find_user("543210:543211").value();
  CHECK(grouped.gid == 543211);
  CHECK(grouped.groups == std::vector<gid_t>{543211});
  CHECK(find_user("nobody:" + std::to_string(nobody.gid))->gid == nobody.gid);
  CHECK(find_user("0:0")->name == "root");

  const auto problem = [](const char* user) { return find_user(user).error().what; };
  CHECK(problem("nobody:root") == "user \"nobody\" is not in group \"root\"");
  CHECK(problem("543210:0") == "user \"543210\" is not in group \"0\"");
  CHECK(problem("nobody:no such group") == "unknown group \"no such group\"");
  CHECK(problem("nobody:") == "unknown group \"\"");
  CHECK(problem(":0") == "unknown user \"\"");
  // -1 would leave the caller who it is.
  CHECK(problem("4294967295") == "unknown user \"4294967295\"");
  CHECK(problem("543210:4294967295") == "unknown group \"4294967295\"");
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
