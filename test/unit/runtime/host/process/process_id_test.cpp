#include "runtime/host/process/process_id.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "runtime/host/executor/containment.hpp"
#include "test/support/child_process.hpp"

using namespace nomad::host;

TEST_CASE("process_id: parses the stat file of names with anything in them") {
  ProcessStat stat;
  REQUIRE(
      parse_process_stat("4242 (a) b (c) S 17 4242 40 0 -1 4194304 100 0 0 0 11 12 0 0 20 0 1 0 "
                         "98765 2703360 213 18446744073709551615 1 1 0\n",
                         stat));
  CHECK(stat.pid == 4242);
  CHECK(stat.state == 'S');
  CHECK(stat.parent == 17);
  CHECK(stat.session == 40);
  CHECK(stat.user_ticks == 11);
  CHECK(stat.system_ticks == 12);
  CHECK(stat.start_ticks == 98765);
  CHECK(stat.rss_pages == 213);

  for (const char* bad :
       {"", "1", "1 (x", "1 (x)", "1 (x) S", "x (y) S 1 2 3", ") (", "1 (x) S 1 2"})
    CHECK_FALSE(parse_process_stat(bad, stat));
}

TEST_CASE("process_id: knows a process from another with its pid, and a zombie from a living one") {
  nomad::test::ChildProcess child{{"/bin/sleep", "1000"}};
  ProcessId id = identify(child.pid());
  CHECK(id.start_ticks != 0);
  CHECK(is_alive(id));
  CHECK_FALSE(is_alive({id.pid, id.start_ticks + 1, id.boot_id}));
  CHECK_FALSE(is_alive({id.pid, id.start_ticks, "another boot"}));

  ::kill(child.pid(), SIGKILL);
  siginfo_t info;
  ::waitid(P_PID, static_cast<id_t>(child.pid()), &info, WEXITED | WNOWAIT);
  CHECK_FALSE(is_alive(id));
  child.wait();
  CHECK_FALSE(is_alive(id));
}

TEST_CASE("containment: reads the kernel's count of kills for memory") {
  using nomad::host::executor::parse_oom_kills;
  CHECK(parse_oom_kills("low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 0\n") == 2);
  CHECK(parse_oom_kills("oom_kill_disable 0\nunder_oom 0\noom_kill 7\n") == 7);
  CHECK(parse_oom_kills("oom_kill_disable 1\nunder_oom 0\n") == 0);
  CHECK(parse_oom_kills("") == 0);
}
