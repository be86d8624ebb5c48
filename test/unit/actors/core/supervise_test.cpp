// actors/core/supervise.hpp: a child's end reaches its parent, a crash as a crash; nothing is
// printed to stdout.
#include "actors/core/supervise.hpp"

#include <cstdio>

#include <fcntl.h>
#include <unistd.h>

#include <caf/actor_system.hpp>
#include <caf/scheduler/abstract_coordinator.hpp>
#include <doctest/doctest.h>

#include "actors/core/system.hpp"
#include "test/support/actor_fixture.hpp"

using namespace nomad;

namespace {

struct Fail {
  using is_message = void;
};

struct Leave {
  using is_message = void;
};

struct ToChild {
  using is_message = void;
  bool fail = false;
};

struct Ended {
  using is_message = void;
  bool crashed = false;
  std::string what;
};

using Child = actor::Interface<void(Fail), void(Leave)>;
using Parent = actor::Interface<void(ToChild)>;
using Listener = actor::Interface<void(Ended)>;

Child::behavior_type child(Child::pointer self) {
  return {
      [](const Fail&) { throw std::runtime_error{"broken on purpose"}; },
      [self](const Leave&) { self->quit(); },
  };
}

Parent::behavior_type parent(Parent::pointer self, Listener listener) {
  auto offspring = actor::spawn(self, child);
  actor::on_down(self, [self, listener](const actor::Down& down) {
    self->send(listener, Ended{down.crashed, down.reason.what});
  });
  return {[self, offspring](const ToChild& msg) {
    if (msg.fail)
      self->send(offspring, Fail{});
    else
      self->send(offspring, Leave{});
  }};
}

/// What is written to file descriptor 1 while it lives.
class CapturedStdout {
public:
  CapturedStdout() : saved_(dup(STDOUT_FILENO)), file_(std::tmpfile()) {
    std::fflush(stdout);
    dup2(fileno(file_), STDOUT_FILENO);
  }

  ~CapturedStdout() {
    restore();
    std::fclose(file_);
  }

  std::size_t finish() {
    restore();
    std::fseek(file_, 0, SEEK_END);
    return static_cast<std::size_t>(std::ftell(file_));
  }

private:
  void restore() {
    if (saved_ < 0) return;
    std::fflush(stdout);
    dup2(saved_, STDOUT_FILENO);
    close(saved_);
    saved_ = -1;
  }

  int saved_;
  std::FILE* file_;
};

}  // namespace

TEST_CASE_FIXTURE(test::ActorFixture, "supervise: a crash reaches the parent with its reason") {
  auto ended = record<Ended>();
  auto top = adopt(actor::spawn(system(), parent, ended.handle));

  tell(top, ToChild{.fail = true});

  REQUIRE(ended.seen->size() == 1);
  CHECK(ended.seen->front().crashed);
  CHECK(ended.seen->front().what == "broken on purpose");
}

TEST_CASE_FIXTURE(test::ActorFixture, "supervise: an orderly end is not a crash") {
  auto ended = record<Ended>();
  auto top = adopt(actor::spawn(system(), parent, ended.handle));

  tell(top, ToChild{.fail = false});

  REQUIRE(ended.seen->size() == 1);
  CHECK_FALSE(ended.seen->front().crashed);
}

TEST_CASE("supervise: crashes and unexpected messages print nothing to stdout") {
  CapturedStdout captured;
  {
    actor::SystemConfig config;
    actor::System system{config};
    auto crashing = actor::spawn(system, child);
    crashing.ref().tell(actor::Mail::of(Ended{}), actor::Priority::normal);  // it has no handler
    actor::tell(crashing, Fail{});
    system.await_all_actors_done();
  }
  CHECK(captured.finish() == 0);
}

TEST_CASE("system: the options reach CAF, and there are at least two workers") {
  actor::SystemConfig config{{.workers = 1, .max_throughput = 7}};
  actor::System system{config};

  CHECK(system.scheduler().num_workers() == 2);
  CHECK(system.scheduler().max_throughput() == 7);
}
