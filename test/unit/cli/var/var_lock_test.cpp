// var lock: what it refuses, what it asks, and how its child ends.
#include <cstdlib>
#include <fstream>

#include "test/support/eventually.hpp"
#include "test/support/temp_dir.hpp"
#include "test/unit/cli/fake_agent.hpp"

using namespace nomad;

namespace {

struct LockedAgent : test::FakeAgent {
  LockedAgent() {
    ::setenv("SHELL", "/bin/sh", 1);
    answer("PUT /v1/var/app", "{}");
  }

  int lock(const std::vector<std::string>& arguments) { return run(cli::run_var_lock, arguments); }

  test::TempDir dir;
};

}  // namespace

TEST_CASE_FIXTURE(LockedAgent, "var lock: takes the lock, runs the child, and gives the lock up") {
  CHECK(lock({"-ttl", "20s", "-delay", "1m", "app", "exit", "0"}) == 0);

  CHECK(err.empty());
  REQUIRE(asked.size() == 2);
  CHECK(asked[0].starts_with("PUT /v1/var/app?lock-acquire "));
  CHECK(asked[0].find(R"("TTL":"20s","LockDelay":"1m")") != std::string::npos);
  CHECK(asked[1].starts_with(R"(PUT /v1/var/app?lock-release {"Lock":{"ID":")"));
}

TEST_CASE_FIXTURE(LockedAgent,
                  "var lock: a child that fails, or is not there, is told, and the lock given up") {
  CHECK(lock({"app", "exit 3"}) == 1);
  CHECK(err == "Lock error: error executing protected function: exit status 3");
  CHECK(asked.size() == 2);

  CHECK(lock({"-shell=false", "app", "/no/such/program"}) == 1);
  CHECK(err.starts_with("Lock error: error executing protected function: "));
  CHECK(asked.size() == 2);
}

TEST_CASE_FIXTURE(LockedAgent,
                  "var lock: nothing that the child has started goes on without the lock") {
  const auto file = dir.file("pid");
  CHECK(lock({"app", "sleep 1000 & echo $! > " + file}) == 0);

  pid_t pid = 0;
  std::ifstream{file} >> pid;
  REQUIRE(pid > 0);
  CHECK(test::has_ended(pid));
  CHECK(asked.size() == 2);
}

TEST_CASE_FIXTURE(LockedAgent, "var lock: another's lock, and what the servers refuse") {
  answer("PUT /v1/var/app", "{}", 409);
  CHECK(lock({"-early-return", "app", "exit 3"}) == 0);
  CHECK(asked.size() == 1);
  answer("PUT /v1/var/app", "Permission denied", 403);
  CHECK(lock({"app", "exit 3"}) == 1);
  CHECK(err == "Lock error: Unexpected response code: 403 (Permission denied)");
}

TEST_CASE_FIXTURE(LockedAgent, "var lock: the specification brings items and times") {
  const auto file = dir.file("app.hcl");
  std::ofstream{file} << "path = \"app\"\nitems {\n  k = \"v\"\n}\nlock {\n  ttl = \"30s\"\n}\n";

  CHECK(lock({"@" + file, "exit", "0"}) == 0);

  CHECK(asked[0].find(R"("TTL":"30s","LockDelay":"15s")") != std::string::npos);
  CHECK(asked[0].find(R"("Items":{"k":"v"})") != std::string::npos);
}

TEST_CASE_FIXTURE(LockedAgent, "var lock: mistakes in what it is given") {
  const auto says = [&](const std::vector<std::string>& arguments) {
    CHECK(lock(arguments) == 1);
    CHECK(asked.empty());
    return err.substr(0, err.find('\n'));
  };

  CHECK(says({"app"}) == "Not enough arguments (expected >2, got 1)");
  CHECK(says({"app", "@x.hcl"}) == "Not enough arguments (expected a child to run)");
  CHECK(says({"@spec", "true"})
        == "Unable to determine format of spec; its name must end in .json or .hcl");
  CHECK(says({"-ttl", "x", "app", "true"}) == "Invalid TTL: time: invalid duration \"x\"");
  CHECK(says({"-delay", "x", "app", "true"}) == "Invalid Lock Delay: time: invalid duration \"x\"");
  CHECK(says({"-backoff", "x", "app", "true"}) == "Invalid backoff: time: invalid duration \"x\"");
  CHECK(says({"-ttl", "-1s", "app", "true"}) == "the TTL and the backoff must be longer than 0s");
  CHECK(says({"-namespace", "*", "app", "true"})
        == "The wildcard namespace (\"*\") is not valid for this command.");
}
