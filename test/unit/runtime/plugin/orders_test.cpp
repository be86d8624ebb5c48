#include <csignal>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "runtime/plugin/process/confine.hpp"

using namespace nomad;
using Words = std::vector<std::string>;

TEST_CASE("orders: a library alone, and all that a program may come with") {
  const auto plain = plugin::read_orders({"/p/stamp.so"});
  REQUIRE(plain);
  CHECK(plain->words == Words{"/p/stamp.so"});
  CHECK_FALSE(plain->is_program);
  CHECK_FALSE(plain->user);

  const auto full = plugin::read_orders({"--user", "65534:65533:65533,100", "--confine", "--path",
                                         "/srv", "--program", "/p/count.py", "--user", "x"});
  REQUIRE(full);
  CHECK(full->user->uid == 65534);
  CHECK(full->user->gid == 65533);
  CHECK(full->user->groups == std::vector<gid_t>{65533, 100});
  CHECK(full->is_confined);
  CHECK(full->paths == Words{"/srv"});
  CHECK(full->is_program);
}

TEST_CASE("orders: the bound of its memory, and that of another process") {
  const auto own = plugin::read_orders({"--memory", "4096", "/p/x.so"});
  REQUIRE(own);
  CHECK(own->memory_bytes == 4096);
  CHECK_FALSE(own->bounds);

  const auto other
      = plugin::read_orders({"--bound", "77", "--user", "65534:65534", "--memory", "4096"});
  REQUIRE(other);
  REQUIRE(other->bounds);
  CHECK(other->bounds->first == 77);
  CHECK(other->bounds->second.bytes == 4096);
  CHECK(other->bounds->second.for_good);

  const auto lifted = plugin::read_orders({"--bound", "77", "--user", "65534:65534"});
  REQUIRE(lifted);
  CHECK(lifted->bounds->second.bytes == 0);
  CHECK_FALSE(lifted->bounds->second.for_good);
}

TEST_CASE("orders: a bound holds, for good if it is to") {
  const auto child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  constexpr std::uint64_t bytes = 64 << 20;
  const auto bounds = [child] {
    rlimit limit{};
    ::prlimit(child, RLIMIT_DATA, nullptr, &limit);
    return std::pair{limit.rlim_cur, limit.rlim_max};
  };
  const auto before = bounds();
  CHECK(host::bound_memory(child, {.bytes = bytes}));
  CHECK(bounds() == std::pair<rlim_t, rlim_t>{bytes, before.second});
  CHECK(host::bound_memory(child, {}));
  CHECK(bounds() == std::pair{before.second, before.second});
  CHECK(host::bound_memory(child, {.bytes = bytes, .for_good = true}));
  CHECK(host::bound_memory(child, {.bytes = 2 * bytes}));  // no more than it may give itself
  CHECK(bounds() == std::pair<rlim_t, rlim_t>{bytes, bytes});
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  CHECK_FALSE(host::bound_memory(child, {.bytes = bytes}));
}

TEST_CASE("orders: what is behind --program is the program's") {
  const auto orders = plugin::read_orders({"--program", "/p/x", "--user"});
  REQUIRE(orders);
  CHECK(orders->words == Words{"/p/x", "--user"});
}

TEST_CASE("orders: mistakes are refused") {
  const auto said = [](const Words& words) { return plugin::read_orders(words).error().what; };
  CHECK(said({}) == "usage: nomadctl-plugin-host LIBRARY (started by an agent)");
  CHECK(said({"--confine"}) == "usage: nomadctl-plugin-host LIBRARY (started by an agent)");
  CHECK(said({"--other", "/p/x.so"}) == "unknown option --other");
  CHECK(said({"--user", "nobody", "/p/x.so"}) == "--user: expected UID:GID:GROUP,…");
  CHECK_FALSE(plugin::read_orders({"--user", "1", "/p/x.so"}));
  CHECK_FALSE(plugin::read_orders({"--memory", "1M", "/p/x.so"}));
  const auto* const bound = "--bound: expected a process, --user and nothing else";
  CHECK_FALSE(plugin::read_orders({"--bound", "77", "--user", "1:1", "/p/x.so"}));
  CHECK(said({"--bound", "77"}) == bound);
  CHECK(said({"--bound", "0", "--user", "1:1:1"}) == bound);
}
