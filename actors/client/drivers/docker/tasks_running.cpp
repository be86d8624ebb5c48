// DockerTasks: finding what runs, waiting for its end, orders, commands and logs.
#include <filesystem>

#include <fmt/format.h>

#include "actors/client/drivers/docker/task.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/log.hpp"
#include "runtime/host/signals.hpp"

namespace nomad::client {

using docker::EngineAnswer;
using driver::Answered;
using driver::TaskId;

namespace {

constexpr auto container_look_pause = std::chrono::seconds{1};
constexpr int recover_tries = 40;
constexpr auto log_patience = std::chrono::seconds{10};
constexpr auto first_log_pause = std::chrono::milliseconds{200};
constexpr auto docker_kill_pause = std::chrono::seconds{10};

std::string container_path(const std::string& container) {
  return "/containers/" + docker::escape_target(container);
}

}  // namespace

// -- finding what runs ----------------------------------------------------------------------------

actor::Answer<Answered> DockerTasks::recover(schema::plugin::RecoverTask::Reader order) {
  const auto id = driver::read_id(order.getId());
  const auto run_id = copy(order.getRunId());
  if (const auto known = tasks_.find(id); known != tasks_.end()) {
    auto& task = *known->second;
    if (run_id.empty() || task.run_id == run_id) {
      if (task.stage == Stage::ended) tell_end(id, task);
      if (task.stage != Stage::starting) return driver::recovered(task.run_id);
      return task.recovering = context_.self()->make_response_promise<Answered>();
    }
    return driver::failed({Errc::not_found, "another run of the task is there"});
  }
  auto& task = *tasks_.emplace(id, std::make_unique<Task>()).first->second;
  task.run_id = run_id;
  task.serial = ++serials_;
  task.recovering = context_.self()->make_response_promise<Answered>();
  if (order.hasHandle()) task.handle = driver::read_handle(order.getHandle());
  auto answer = task.recovering;
  look_for(id, task.serial, 1);
  return answer;
}

/// An engine that is away may come back, and have the container still.
void DockerTasks::look_for(const TaskId& id, std::uint64_t serial, int tries) {
  const auto* const looking = find(id, serial);
  if (looking == nullptr) return;
  const auto& handle = looking->handle;
  const auto name = handle.data.empty() || handle.version > docker_handle_version
                        ? docker::container_name(id.task, id.alloc_id)
                        : handle.data;
  context_.ask({.target = container_path(name) + "/json"}, std::chrono::seconds{10},
               [this, id, serial, tries](const Result<EngineAnswer>& answer) {
                 auto* const task = find(id, serial);
                 if (task == nullptr) return;
                 if (!answer && is_away(answer.error()) && tries < recover_tries)
                   return context_.after(container_look_pause, [this, id, serial, tries] {
                     look_for(id, serial, tries + 1);
                   });
                 const auto lose = [&](const Error& why) {
                   const auto waiting = task->recovering;
                   tasks_.erase(id);
                   waiting.deliver(driver::failed(why));
                 };
                 if (!answer) return lose(answer.error());
                 const auto container = docker::read_container(answer->body);
                 if (!container) return lose(container.error());
                 const auto label = [&container](const char* name) {
                   const auto found = container->labels.find(name);
                   return found == container->labels.end() ? std::string{} : found->second;
                 };
                 const auto run = label(docker::label::run);
                 if (label(docker::label::agent) != context_.label() || run.empty()
                     || (!task->run_id.empty() && run != task->run_id))
                   return lose({Errc::not_found, "no container of this run is there"});
                 if (container->status == "created") {
                   drop_container(container->id);
                   return lose({Errc::not_found, "its container was never started"});
                 }
                 adopt(id, *container, serial);
               });
}

/// A container that an earlier agent, or an earlier try, has started.
void DockerTasks::adopt(const TaskId& id,
                        const docker::Container& container,
                        std::uint64_t serial) {
  auto* const task = find(id, serial);
  if (task == nullptr) return;
  if (const auto run = container.labels.find(docker::label::run); run != container.labels.end())
    task->run_id = run->second;
  task->spec.reset();
  task->container = container.id;
  task->stage = Stage::running;
  task->is_terminal = container.tty;
  task->joins = container.network_mode.starts_with("container:");
  task->handle = {.version = docker_handle_version, .data = container.id};
  images_.adopt(container.image, user_of(id, task->run_id));
  open_logs(id, *task, container.labels, false);
  const auto starting = std::exchange(task->starting, {});
  const auto recovering = std::exchange(task->recovering, {});
  if (starting.pending()) starting.deliver(driver::started(task->handle, task->network));
  if (recovering.pending()) recovering.deliver(driver::recovered(task->run_id));
  watch(id, *task);
}

// -- its end --------------------------------------------------------------------------------------

void DockerTasks::watch(const TaskId& id, Task& task) {
  if (task.keeper && task.logs == 0) follow_logs(id, task);
  const auto serial = task.serial;
  task.wait = context_.follow(
      {.method = "POST", .target = container_path(task.container) + "/wait?condition=not-running"},
      {.header = std::chrono::milliseconds{0}}, {},
      [this, id, serial](const Result<EngineAnswer>&) { wait_ended(id, serial); });
}

/// Whatever the answer was: how the container is, says the container.
void DockerTasks::wait_ended(const TaskId& id, std::uint64_t serial) {
  if (auto* const task = find(id, serial)) {
    task->wait = 0;
    look_again(id, serial);
  }
}

void DockerTasks::look_again(const TaskId& id, std::uint64_t serial) {
  const auto* const looking = find(id, serial);
  if (looking == nullptr || looking->stage != Stage::running) return;
  context_.ask(
      {.target = container_path(looking->container) + "/json"},
      [this, id, serial](const Result<EngineAnswer>& answer) {
        auto* const task = find(id, serial);
        if (task == nullptr || task->stage != Stage::running) return;
        if (!answer && answer.error().code == Errc::not_found)
          return end(id, *task, {.code = 1, .error = "its container was removed"});
        const auto container = answer ? docker::read_container(answer->body)
                                      : Result<docker::Container>{answer.error()};
        // The engine is away, or has not found itself yet.
        if (!container)
          return context_.after(container_look_pause,
                                [this, id, serial] { look_again(id, serial); });
        if (container->running)
          return context_.after(container_look_pause, [this, id, serial] {
            auto* const running = find(id, serial);
            if (running != nullptr && running->stage == Stage::running) watch(id, *running);
          });
        workload::ExitResult result{
            .code = container->exit_code, .signal = 0, .oom_killed = container->oom_killed};
        if (result.oom_killed)
          result.error = "OOM Killed";
        else if (result.code != 0)
          result.error
              = fmt::format("Docker container exited with non-zero exit code: {}", result.code);
        if (!container->error.empty()) result.error += ": " + container->error;
        end(id, *task, std::move(result));
      });
}

/// What it has written is to be in its files when its end is heard of, if the engine gives it out.
void DockerTasks::end(const TaskId& id, Task& task, workload::ExitResult result) {
  task.stage = Stage::ended;
  task.result = std::move(result);
  feed_.drop(id);
  if (task.wait != 0) context_.engine().cancel(std::exchange(task.wait, 0));
  if (!task.keeper) return tell_end(id, task);
  if (task.logs == 0) follow_logs(id, task);
  context_.after(log_patience, [this, id, serial = task.serial] {
    auto* const ended = find(id, serial);
    if (ended != nullptr && !ended->told) tell_end(id, *ended);
  });
}

void DockerTasks::tell_end(const TaskId& id, Task& task) {
  task.told = true;
  actor::send_urgent(context_.self(), context_.options().host,
                     driver::exited(id, task.run_id, *task.result));
}

// -- orders ---------------------------------------------------------------------------------------

actor::Answer<Answered> DockerTasks::stop(schema::plugin::StopTask::Reader order) {
  const auto id = driver::read_id(order.getId());
  const auto known = tasks_.find(id);
  if (known == tasks_.end()) return driver::found_nothing();
  auto& task = *known->second;
  if (task.stage == Stage::ended) return driver::done();
  if (task.stage == Stage::starting) {
    if (!task.starting.pending()) return driver::found_nothing();
    fail_start(id, task.serial, {Errc::cancelled, "the task was stopped while it was started"},
               false);
    return driver::done();
  }
  auto signal = copy(order.getSignal());
  if (!signal.empty() && !host::parse_signal(signal)) {
    log::warn("client", "docker: unknown kill signal {}; using the image's", signal);
    signal.clear();
  }
  task.stopping = true;
  task.stop_signal = signal;
  task.stop_grace = std::max(Nanoseconds{order.getGrace()}, Nanoseconds{0});
  order_stop(id, task.serial);
  return driver::done();
}

void DockerTasks::order_stop(const TaskId& id, std::uint64_t serial) {
  const auto* const task = find(id, serial);
  if (task == nullptr || task->stage != Stage::running) return;
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(task->stop_grace).count();
  docker::EngineRequest request{.method = "POST", .target = {}};
  request.target = task->stop_signal.empty()
                       ? fmt::format("{}/stop?t={}", container_path(task->container), seconds)
                       : fmt::format("{}/kill?signal={}", container_path(task->container),
                                     docker::escape_target(task->stop_signal));
  context_.ask(std::move(request), std::chrono::seconds{seconds} + std::chrono::minutes{1},
               [this, id, serial](const Result<EngineAnswer>& answer) {
                 if (answer || !is_away(answer.error())) return;
                 context_.after(container_look_pause,
                                [this, id, serial] { order_stop(id, serial); });
               });
  // The engine kills by itself after the time, if it was asked to stop.
  const auto extra = task->stop_signal.empty() ? Nanoseconds{docker_kill_pause} : Nanoseconds{0};
  context_.after(task->stop_grace + extra, [this, id, serial] { kill(id, serial); });
}

void DockerTasks::kill(const TaskId& id, std::uint64_t serial) {
  const auto* const task = find(id, serial);
  if (task == nullptr || task->stage != Stage::running) return;
  context_.ask({.method = "POST", .target = container_path(task->container) + "/kill"},
               [](const Result<EngineAnswer>&) {});
  context_.after(docker_kill_pause, [this, id, serial] { kill(id, serial); });
}

actor::Answer<Answered> DockerTasks::signal(schema::plugin::SignalTask::Reader order) {
  const auto id = driver::read_id(order.getId());
  const auto known = tasks_.find(id);
  if (known == tasks_.end() || known->second->stage != Stage::running)
    return driver::found_nothing();
  const auto name = copy(order.getSignal());
  if (const auto number = host::parse_signal(name); !number)
    return driver::failed(number.error().within("failed to parse signal"));
  auto answer = context_.self()->make_response_promise<Answered>();
  context_.ask(
      {.method = "POST",
       .target = fmt::format("{}/kill?signal={}", container_path(known->second->container),
                             docker::escape_target(name))},
      std::chrono::seconds{30}, [answer](const Result<EngineAnswer>& sent) {
        answer.deliver(sent ? driver::done() : driver::failed(sent.error(), is_away(sent.error())));
      });
  return answer;
}

actor::Answer<Answered> DockerTasks::exec(schema::plugin::ExecTask::Reader order) {
  const auto id = driver::read_id(order.getId());
  const auto known = tasks_.find(id);
  if (known == tasks_.end() || known->second->stage != Stage::running)
    return driver::found_nothing();
  docker::ExecRequest spec{.socket = context_.settings().socket,
                           .api = context_.engine().api(),
                           .container = known->second->container,
                           .command = {},
                           .is_terminal = order.getTty()};
  for (const auto word : order.getCommand())
    spec.command.push_back(copy(word));
  auto answer = context_.self()->make_response_promise<Answered>();
  using Ends = std::vector<host::UniqueFd>;
  commands_.begin(std::move(spec), [call = context_.caller(), answer](Result<Ends> ends) {
    auto shared = std::make_shared<Result<Ends>>(std::move(ends));
    call([answer, shared] {
      if (!*shared) return answer.deliver(driver::failed(shared->error()));
      answer.deliver(driver::exec_started(std::make_shared<Ends>(std::move(**shared))));
    });
  });
  return answer;
}

// -- logs -----------------------------------------------------------------------------------------

std::string DockerTasks::position_file(const std::string& container) const {
  return fmt::format("{}/docker/{}", context_.options().state_dir, container);
}

void DockerTasks::open_logs(const TaskId& id,
                            Task& task,
                            const docker::Texts& labels,
                            bool is_new) {
  const auto place = docker::read_log_label(labels);
  if (!place) return;
  std::error_code failure;
  std::filesystem::create_directories(context_.options().state_dir + "/docker", failure);
  // Of one that was made a moment ago nothing is known: a record would be another agent's, who died
  // in between.
  const auto position = position_file(task.container);
  const bool begins = is_new && !std::filesystem::exists(position, failure);
  auto keeper = std::make_shared<docker::LogKeeper>(
      docker::LogKeeperOptions{.alloc_root = place->alloc_root,
                               .task = id.task,
                               .max_files = place->max_files,
                               .max_bytes = place->max_bytes,
                               .position_file = position,
                               .is_terminal = task.is_terminal});
  if (const auto opened = keeper->open(begins); !opened) {
    context_.tell(id, "logs are not kept: " + opened.error().what);
    return;
  }
  task.keeper = std::move(keeper);
}

/// While it runs as they come; then once more what there is: engines lose their own files out of
/// sight where one follows another.
void DockerTasks::follow_logs(const TaskId& id, Task& task) {
  const bool is_last = task.stage == Stage::ended;
  task.read_last_logs = is_last;
  const auto keeper = task.keeper;
  const auto serial = task.serial;
  docker::EngineRequest request{
      .target = fmt::format("{}/logs?follow={}&stdout=1&stderr=1&timestamps=1&since={}",
                            container_path(task.container), is_last ? 0 : 1, keeper->since())};
  task.logs = context_.log_engine().follow(
      std::move(request), {.header = std::chrono::milliseconds{0}},
      {.piece = [keeper](std::string_view bytes) { return keeper->take(bytes); },
       .ended =
           [this, id, serial, keeper, call = context_.caller()](Result<EngineAnswer> answer) {
             keeper->save();
             auto shared
                 = std::make_shared<docker::EngineOutcome>(docker::judged(std::move(answer)));
             call([this, id, serial, shared] { logs_ended(id, serial, *shared); });
           },
       .tick = [keeper] { keeper->save_if_due(docker::LogKeeper::Clock::now()); }});
}

void DockerTasks::logs_ended(const TaskId& id,
                             std::uint64_t serial,
                             const Result<EngineAnswer>& outcome) {
  auto* const task = find(id, serial);
  if (task == nullptr) return;
  task->logs = 0;
  if (const auto complaint = task->keeper->take_complaint(); !complaint.empty())
    context_.tell(id, complaint);
  const auto be_over = [&] {
    task->keeper.reset();
    if (task->stage == Stage::ended && !task->told) tell_end(id, *task);
  };
  // The engine gives the stream an end when the container has ended, often before that is heard of.
  if (outcome) {
    if (task->read_last_logs) return be_over();
    task->keeper->restart();
    if (task->stage == Stage::ended) return follow_logs(id, *task);
  } else {
    const auto& why = outcome.error();
    if (why.code == Errc::not_found) return be_over();
    if (why.code == Errc::invalid_argument) {  // The container's log driver can't be read.
      context_.tell(id, "logs are not kept: " + why.what);
      return be_over();
    }
    task->keeper->restart();
  }
  const auto pause = first_log_pause * std::min(1 << std::min(++task->log_failures, 7), 100);
  context_.after(pause, [this, id, serial] {
    auto* const broken = find(id, serial);
    if (broken != nullptr && broken->keeper && broken->logs == 0) follow_logs(id, *broken);
  });
}

}  // namespace nomad::client
