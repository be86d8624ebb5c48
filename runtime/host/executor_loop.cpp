#include "runtime/host/executor_loop.hpp"

#include <algorithm>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "runtime/base/failpoint.hpp"
#include "runtime/base/log.hpp"
#include "runtime/host/executor/exit_status.hpp"
#include "runtime/host/executor_start.hpp"

namespace nomad::host {

namespace {

using namespace std::chrono_literals;

constexpr auto look_again = 2ms;
constexpr auto look_patience = 5s;
constexpr auto answer_patience = 10s;
constexpr auto clear_again = 2ms;
constexpr auto clear_patience = 5s;

TaskExit to_task_exit(const executor::ExitStatus& status) {
  return {status.code, status.signal, status.oom_killed, status.finished_at, status.reason};
}

/// What an executor's refusal means: `invalid_argument` when it is too old for the request, which
/// it says in words alone; `unavailable` when what the program needs may be there another time.
Error error_of(schema::executor::Failure::Reader failure) {
  const std::string what{failure.getWhat().cStr()};
  if (failure.getMayPass())
    return {Errc::unavailable, errno_error(what, failure.getErrorNumber()).what};
  if (failure.getErrorNumber() != 0) return errno_error(what, failure.getErrorNumber());
  return {what == executor::unknown_request ? Errc::invalid_argument : Errc::conflict, what};
}

Error vanished(const std::string& key, const std::string& complaints) {
  std::string what = "executor " + key + " vanished without an exit status";
  if (!complaints.empty()) what += ": " + complaints;
  return {Errc::unavailable, what};
}

}  // namespace

// ---- finding and starting ----

void ExecutorClient::Loop::begin_looking(Task& task) {
  task.phase = Phase::looking;
  task.give_up = Clock::now() + look_patience;
  look(task);
}

void ExecutorClient::Loop::look(Task& task) {
  auto found = look_for_executor(state_directory_.get(), task.key);
  if (found.has_error()) {
    if (task.announced) return lost(task, found.error());
    return give_up(task, found.error());
  }
  switch (found->kind) {
    case FoundExecutor::Kind::alive:
      return greet(task, std::move(found->socket));
    case FoundExecutor::Kind::dead:
      return found_dead(task, std::move(*found));
    case FoundExecutor::Kind::busy:
      if (Clock::now() < task.give_up) return arm(task, look_again);
      return give_up(task, {Errc::timeout, "executor " + task.key + " does not listen"});
    case FoundExecutor::Kind::absent:
      return found_absent(task);
  }
}

void ExecutorClient::Loop::found_absent(Task& task) {
  // A task whose executor has lost its directory runs until the executor notices. Its control group
  // goes in any case: where cgroup.kill has been used, kernels may kill what is cloned into it.
  task.cgroup = cgroups_.find(task.key);
  if (task.cgroup.directories.empty()) return nothing_there(task);
  clear(task, [this, self = &task] { nothing_there(*self); });
}

void ExecutorClient::Loop::nothing_there(Task& task) {
  if (task.goal == Goal::purge) return finish_purge(task);
  if (task.failure) return give_up(task, *task.failure);
  if (task.announced) return lost(task, vanished(task.key, ""));
  if (task.goal == Goal::start) return launch(task);
  give_up(task, {Errc::not_found, "executor " + task.key + " was never started"});
}

void ExecutorClient::Loop::found_dead(Task& task, FoundExecutor location) {
  const executor::RunState state = std::move(location.state);
  task.directory = std::move(location.directory);
  task.state = state;
  task.cgroup = cgroups_.find(task.key);
  Task* self = &task;  // what runs after clearing runs only while the task is there

  if (task.goal == Goal::purge) return clear(task, [this, self] { finish_purge(*self); });
  if (location.is_damaged) {
    Error error{Errc::corrupt, "executor " + task.key + ": its state file cannot be read"};
    return clear(task, [this, self, error] { give_up(*self, error); });
  }
  if (task.failure) return clear(task, [this, self] { give_up(*self, *self->failure); });
  if (!task.announced && task.goal == Goal::start && state.run_id != task.run_id) {
    if (!task.launched) return clear(task, [this, self] { launch(*self); });
    Error error{Errc::io, "the executor ended before it started the task: "
                              + executor_complaints(state_directory_.get(), task.key)};
    return clear(task, [this, self, error] { give_up(*self, error); });
  }
  if (!task.announced && state.run_id.empty()) {
    Error error{Errc::not_found, "executor " + task.key + " was never started"};
    return clear(task, [this, self, error] { give_up(*self, error); });
  }
  if (!task.run_id.empty() && state.run_id != task.run_id && !state.run_id.empty())
    return give_up(task, {Errc::conflict, "executor " + task.key + " belongs to another run"});
  if (state.exit) {
    announce(task, true);
    return on_ended(task);
  }
  Error error = vanished(task.key, executor_complaints(state_directory_.get(), task.key));
  clear(task, [this, self, error] {
    if (self->announced) return lost(*self, error);
    give_up(*self, error);
  });
}

void ExecutorClient::Loop::launch(Task& task) {
  if (task.goal == Goal::purge) return finish_purge(task);
  task.launched = true;
  auto attempt = [&]() -> Result<SpawnedExecutor> {
    auto directory = NOMAD_TRY(make_location(state_directory_.get(), task.key));
    NOMAD_FAILPOINT("executor.place_made");
    if (task.command->use_cgroup) {
      task.cgroup = NOMAD_TRY(cgroups_.create(task.key, task.command->cgroup_limits));
    }
    return spawn_executor(options_.executor_path, std::move(directory));
  };
  auto spawned = attempt();
  if (spawned.has_error()) {
    task.failure = spawned.error();
    return begin_looking(task);
  }
  if (spawned->process && watch(spawned->process.get(), nullptr)) {
    int descriptor = spawned->process.get();
    children_[descriptor] = {std::move(spawned->process), spawned->pid};
  }
  NOMAD_FAILPOINT("executor.spawned");
  task.executor_pid = spawned->pid;
  greet(task, std::move(spawned->socket));
}

void ExecutorClient::Loop::greet(Task& task, UniqueFd socket) {
  task.socket = std::move(socket);
  task.reader = {};
  task.output.clear();
  task.phase = Phase::greeting;
  if (!watch(task.socket.get(), &task)) {
    task.socket.reset();
    return give_up(task, errno_error("watching executor " + task.key, errno));
  }
  arm(task, answer_patience);
  const auto sent = send(task, [](executor::Message::Builder message) {
    auto hello = message.initHello();
    hello.setMinVersion(executor::oldest_version);
    hello.setMaxVersion(executor::protocol_version);
  });
  if (!sent) give_up(task, sent.error());
}

void ExecutorClient::Loop::send_start(Task& task) {
  task.phase = Phase::starting;
  arm(task, answer_patience);
  const auto sent = send(task, [&](executor::Message::Builder message) {
    fill_start(message.initStart(), *task.command, task.cgroup, search_path_);
  });
  if (!sent) {
    task.failure = sent.error();
    return leave(task);
  }
  NOMAD_FAILPOINT("executor.start_sent");
}

void ExecutorClient::Loop::on_timer(Task& task) {
  switch (task.phase) {
    case Phase::looking:
      return look(task);
    case Phase::clearing:
      return clear_step(task);
    case Phase::greeting:
    case Phase::starting:
      disconnect(task);
      return give_up(task, {Errc::timeout, "executor " + task.key + " does not answer"});
    case Phase::running:
    case Phase::ended:
    case Phase::leaving:
      break;
  }
}

// ---- what the executor says ----

void ExecutorClient::Loop::on_message(Task& task, executor::Message::Reader message) {
  switch (message.which()) {
    case executor::Message::WELCOME:
      return on_welcome(task, message);
    case executor::Message::STARTED: {
      NOMAD_FAILPOINT("executor.started");
      auto process = message.getStarted();
      task.state.run_id = task.run_id;
      task.state.process = {process.getPid(), process.getStartTicks(), process.getBootId().cStr()};
      task.state.started_at = process.getStartedAt();
      announce(task, false);
      return settle(task);
    }
    case executor::Message::EXITED:
      task.state.exit = executor::from_message(message.getExited());
      if (task.phase == Phase::running) on_ended(task);
      return;
    case executor::Message::DONE:
    case executor::Message::EXEC_STARTED:
    case executor::Message::FAILED:
      break;
    case executor::Message::EXEC:
    case executor::Message::HELLO:
    case executor::Message::START:
    case executor::Message::SIGNAL:
    case executor::Message::STOP:
    case executor::Message::ACKNOWLEDGE:
      return;
  }
  Result<> outcome;
  if (message.isFailed()) {
    const auto failure = message.getFailed();
    outcome = error_of(failure);
    if (task.phase == Phase::starting) {
      if (failure.getErrorNumber() == 0) outcome = Error{Errc::not_found, outcome.error().what};
      task.failure = outcome.error();  // it ends by itself; then the place is cleared
      return;
    }
  }
  auto asked = task.requests.find(message.getId());
  if (asked == task.requests.end()) return;
  ExecutorDone done = std::move(asked->second);
  task.requests.erase(asked);
  if (done) done(outcome);
}

void ExecutorClient::Loop::on_welcome(Task& task, executor::Message::Reader message) {
  auto welcome = message.getWelcome();
  if (executor::common_version(welcome.getVersion(), welcome.getVersion()) == 0) {
    disconnect(task);
    return give_up(
        task, {Errc::conflict, "executor " + task.key + " speaks another version of the protocol"});
  }
  task.executor_pid = welcome.getExecutorPid();
  task.state = {};
  task.state.run_id = welcome.getRunId().cStr();
  if (welcome.hasProcess()) {
    auto process = welcome.getProcess();
    task.state.process = {process.getPid(), process.getStartTicks(), process.getBootId().cStr()};
    task.state.started_at = process.getStartedAt();
  }
  if (welcome.hasExit()) task.state.exit = executor::from_message(welcome.getExit());
  bool idle = task.state.run_id.empty();
  if (task.goal == Goal::purge && (idle || task.state.exit)) return leave(task);
  if (task.goal != Goal::purge && !task.announced) {
    if (idle && task.goal == Goal::start) {
      if (!task.command->isolation || welcome.getVersion() >= executor::isolation_version)
        return send_start(task);
      // It would start the task without.
      task.failure = {Errc::unavailable, "the program " + options_.executor_path
                                             + " is of a release that can't isolate tasks; "
                                               "install that of this agent"};
      return leave(task);
    }
    if (idle) {
      task.failure = {Errc::not_found, "executor " + task.key + " was never started"};
      return leave(task);
    }
    if (!task.run_id.empty() && task.run_id != task.state.run_id) {
      if (task.goal == Goal::start && task.state.exit) return leave(task);
      disconnect(task);
      return give_up(task, {Errc::conflict,
                            "executor " + task.key + " runs another run, " + task.state.run_id});
    }
  }
  announce(task, true);
  if (task.state.exit) return on_ended(task);
  settle(task);
}

void ExecutorClient::Loop::announce(Task& task, bool reattached) {
  task.phase = Phase::running;
  if (task.announced) return;
  task.announced = true;
  if (!task.cgroup) task.cgroup = cgroups_.find(task.key);
  task.run_id = task.state.run_id;
  task.command.reset();
  if (!task.listener.started) return;
  task.listener.started(TaskStarted{task.state.process, task.state.started_at, task.executor_pid,
                                    reattached, task.run_id, task.cgroup});
}

void ExecutorClient::Loop::settle(Task& task) {
  if (task.goal == Goal::purge) kill_for_purge(task);
  for (auto& order : std::exchange(task.when_settled, {}))
    order();
}

void ExecutorClient::Loop::on_ended(Task& task) {
  task.phase = Phase::ended;
  if (!task.exit_told) {
    task.exit_told = true;
    if (task.listener.exited) task.listener.exited(to_task_exit(*task.state.exit));
  }
  for (auto& order : std::exchange(task.when_settled, {}))
    order();
  if (task.goal == Goal::purge) leave(task);
}

// ---- ending ----

void ExecutorClient::Loop::kill_for_purge(Task& task) {
  request(task, nullptr, [](executor::Message::Builder message) {
    message.initStop().setSignal(9);  // a grace of 0
  });
}

void ExecutorClient::Loop::leave(Task& task) {
  Task* self = &task;
  if (task.socket) {
    task.phase = Phase::leaving;
    NOMAD_FAILPOINT("executor.before_acknowledge");
    const auto sent
        = send(task, [](executor::Message::Builder message) { message.setAcknowledge(); });
    if (!sent) disconnect(task);
  } else if (task.directory) {
    clear(task, [this, self] { finish_purge(*self); });
  } else {
    begin_looking(task);
  }
}

void ExecutorClient::Loop::on_broken(Task& task) {
  disconnect(task);
  // An executor whose parent we are by adoption (as the first process of a container).
  if (task.executor_pid > 0
      && std::none_of(children_.begin(), children_.end(),
                      [&](const auto& child) { return child.second.second == task.executor_pid; }))
    ::waitpid(task.executor_pid, nullptr, WNOHANG);
  if (task.phase != Phase::ended) begin_looking(task);
}

void ExecutorClient::Loop::clear(Task& task, std::function<void()> then) {
  task.phase = Phase::clearing;
  task.give_up = Clock::now() + clear_patience;
  task.after_clearing = std::move(then);
  clear_step(task);
}

void ExecutorClient::Loop::clear_step(Task& task) {
  bool patient = Clock::now() < task.give_up;
  if (!kill_leftovers(task.state, task.cgroup) && patient) return arm(task, clear_again);
  if (auto removed = Cgroups::remove(task.cgroup); removed.has_error()) {
    if (patient) return arm(task, clear_again);
    log::warn("client.executor", "the cgroup of a task is not removed",
              {{"error", removed.error()}});
  }
  if (task.directory) {
    auto gone = remove_location(state_directory_.get(), task.key, task.directory.get());
    if (gone.has_error())
      log::warn("client.executor", "what an executor kept is not removed",
                {{"error", gone.error()}});
  }
  task.directory.reset();
  task.cgroup = {};
  std::exchange(task.after_clearing, nullptr)();
}

void ExecutorClient::Loop::finish_purge(Task& task) {
  NOMAD_FAILPOINT("executor.purged");
  auto cleared = std::exchange(task.cleared, {});
  remove(task);
  for (auto& done : cleared) {
    if (done) done({});
  }
}

void ExecutorClient::Loop::give_up(Task& task, Error error) {
  auto cleared = std::exchange(task.cleared, {});
  auto listener = std::exchange(task.listener, {});
  bool announced = task.announced, purging = task.goal == Goal::purge;
  remove(task);
  for (auto& done : cleared) {
    if (done) done(error);
  }
  if (purging) return;
  if (announced) {
    if (listener.lost) listener.lost(error);
  } else if (listener.started) {
    listener.started(std::move(error));
  }
}

void ExecutorClient::Loop::lost(Task& task, Error error) {
  give_up(task, std::move(error));
}

}  // namespace nomad::host
