// The other half of executor_loop.hpp: the orders that come in, and the epoll loop itself.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>
#include <pthread.h>

#include "runtime/base/guard.hpp"
#include "runtime/base/log.hpp"
#include "runtime/host/executor/descriptors.hpp"
#include "runtime/host/executor_loop.hpp"

namespace nomad::host {

ExecutorClient::Loop::Loop(
    Options options, Cgroups cgroups, UniqueFd state_directory, UniqueFd epoll, UniqueFd wake)
    : options_(std::move(options)),
      cgroups_(std::move(cgroups)),
      state_directory_(std::move(state_directory)),
      epoll_(std::move(epoll)),
      wake_(std::move(wake)) {
  const char* path = std::getenv("PATH");
  search_path_
      = path != nullptr ? path : "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  watch(wake_.get(), nullptr);
}

ExecutorClient::Loop::~Loop() {
  post([this] { stopping_ = true; });
  if (thread_.joinable()) thread_.join();
}

void ExecutorClient::Loop::run_thread() {
  thread_ = std::thread{[this] {
    ::pthread_setname_np(::pthread_self(), "executors");
    run();
  }};
}

void ExecutorClient::Loop::post(std::function<void()> work) {
  {
    std::lock_guard lock{posted_mutex_};
    posted_.push_back(std::move(work));
  }
  std::uint64_t one = 1;
  // It fails only when the counter is full, and then the thread is awake.
  if (::write(wake_.get(), &one, sizeof one) < 0 && errno != EAGAIN)
    log::error("client.executor", "cannot wake the executors' thread");
}

void ExecutorClient::Loop::run_posted() {
  std::vector<std::function<void()>> work;
  {
    std::lock_guard lock{posted_mutex_};
    work.swap(posted_);
  }
  for (auto& item : work)
    guarded("client.executor", item);
}

// ---- orders ----

ExecutorClient::Loop::Task& ExecutorClient::Loop::add(std::string key,
                                                      Goal goal,
                                                      TaskListener listener) {
  auto task = std::make_unique<Task>();
  task->key = key;
  task->goal = goal;
  task->listener = std::move(listener);
  return *(tasks_[std::move(key)] = std::move(task));
}

ExecutorClient::Loop::Task* ExecutorClient::Loop::find(const std::string& key) {
  auto found = tasks_.find(key);
  return found == tasks_.end() ? nullptr : found->second.get();
}

void ExecutorClient::Loop::remove(Task& task) {
  disconnect(task);
  task.removed = true;
  task.directory.reset();
  // Orders that waited find the key free, or gone.
  for (auto& order : std::exchange(task.when_settled, {}))
    post(std::move(order));
  for (auto& order : std::exchange(task.after_removal, {}))
    post(std::move(order));
  auto found = tasks_.find(task.key);
  graveyard_.push_back(std::move(found->second));
  tasks_.erase(found);
}

void ExecutorClient::Loop::start(std::string key, TaskCommand command, TaskListener listener) {
  if (!executor::is_run_id(command.run_id)) {
    if (listener.started)
      listener.started(Error{Errc::invalid_argument, "the run id is not valid"});
    return;
  }
  if (has_null({command.command, command.task_directory}) || has_null(command.arguments)
      || has_null(command.environment)) {
    if (listener.started) listener.started(null_error());
    return;
  }
  if (Task* other = find(key)) {
    bool ending = other->phase == Phase::ended || other->goal == Goal::purge;
    if (!ending) {
      if (listener.started)
        listener.started(Error{Errc::conflict, "executor " + key + " is in use"});
      return;
    }
    other->after_removal.push_back(
        [this, key, command = std::move(command), listener = std::move(listener)]() mutable {
          start(key, std::move(command), std::move(listener));
        });
    if (other->phase == Phase::ended && other->goal != Goal::purge) {
      other->goal = Goal::purge;
      leave(*other);
    }
    return;
  }
  Task& task = add(std::move(key), Goal::start, std::move(listener));
  task.run_id = command.run_id;
  task.command = std::move(command);
  begin_looking(task);
}

void ExecutorClient::Loop::attach(std::string key, std::string run_id, TaskListener listener) {
  if (find(key) != nullptr) {
    if (listener.started) listener.started(Error{Errc::conflict, "executor " + key + " is in use"});
    return;
  }
  Task& task = add(std::move(key), Goal::attach, std::move(listener));
  task.run_id = std::move(run_id);
  begin_looking(task);
}

void ExecutorClient::Loop::signal(const std::string& key, int number, ExecutorDone done) {
  Task* task = find(key);
  if (task == nullptr) {
    if (done) done(Error{Errc::not_found, "no task runs as " + key});
    return;
  }
  switch (task->phase) {
    case Phase::looking:
    case Phase::greeting:
    case Phase::starting:
      task->when_settled.push_back([this, key, number, done] { signal(key, number, done); });
      return;
    case Phase::running:
      return request(*task, std::move(done),
                     [number](executor::Message::Builder message) { message.setSignal(number); });
    case Phase::ended:
    case Phase::leaving:
    case Phase::clearing:
      break;
  }
  if (done) done(Error{Errc::conflict, "the task is not running"});
}

void ExecutorClient::Loop::stop(const std::string& key,
                                int number,
                                std::chrono::milliseconds grace,
                                ExecutorDone done) {
  Task* task = find(key);
  if (task == nullptr) {
    if (done) done(Error{Errc::not_found, "no task runs as " + key});
    return;
  }
  switch (task->phase) {
    case Phase::looking:
    case Phase::greeting:
    case Phase::starting:
      task->when_settled.push_back(
          [this, key, number, grace, done] { stop(key, number, grace, done); });
      return;
    case Phase::running:
      return request(*task, std::move(done), [=](executor::Message::Builder message) {
        auto order = message.initStop();
        order.setSignal(number);
        order.setGraceMs(grace.count() > 0 ? static_cast<std::uint64_t>(grace.count()) : 0);
      });
    case Phase::ended:
    case Phase::leaving:
    case Phase::clearing:
      break;
  }
  if (done) done({});
}

void ExecutorClient::Loop::acknowledge(const std::string& key, ExecutorDone done) {
  Task* task = find(key);
  if (task == nullptr) {
    if (done) done(Error{Errc::not_found, "no task has ended as " + key});
    return;
  }
  if (task->goal != Goal::purge && task->phase != Phase::ended) {
    if (done) done(Error{Errc::conflict, "the task has not ended"});
    return;
  }
  task->cleared.push_back(std::move(done));
  if (task->goal == Goal::purge) return;
  task->goal = Goal::purge;
  leave(*task);
}

void ExecutorClient::Loop::purge(std::string key, ExecutorDone done) {
  if (Task* task = find(key)) {
    task->cleared.push_back(std::move(done));
    if (task->goal == Goal::purge) return;
    task->goal = Goal::purge;
    task->listener = {};
    if (task->phase == Phase::running) kill_for_purge(*task);
    if (task->phase == Phase::ended) leave(*task);
    return;
  }
  Task& task = add(std::move(key), Goal::purge, {});
  task.cleared.push_back(std::move(done));
  begin_looking(task);
}

// ---- the loop ----

void ExecutorClient::Loop::run() {
  while (!stopping_) {
    std::array<epoll_event, 64> events;
    int count = ::epoll_wait(epoll_.get(), events.data(), events.size(), timeout_ms());
    if (count < 0 && errno != EINTR) {
      log::error("client.executor", "waiting for executors failed",
                 {{"error", std::strerror(errno)}});
      return;
    }
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events[static_cast<std::size_t>(i)];
      on_event(event.data.fd, event.events);
    }
    run_timers();
    graveyard_.clear();
  }
}

int ExecutorClient::Loop::timeout_ms() const {
  if (timers_.empty()) return -1;
  auto left = std::chrono::ceil<std::chrono::milliseconds>(timers_.begin()->first - Clock::now());
  return static_cast<int>(std::max<std::int64_t>(0, left.count()));
}

void ExecutorClient::Loop::arm(Task& task, std::chrono::milliseconds delay) {
  task.timer = ++next_timer_;
  timers_.emplace(Clock::now() + delay, Timer{task.key, task.timer});
}

void ExecutorClient::Loop::run_timers() {
  auto now = Clock::now();
  while (!timers_.empty() && timers_.begin()->first <= now) {
    Timer timer = std::move(timers_.begin()->second);
    timers_.erase(timers_.begin());
    Task* task = find(timer.key);
    if (task != nullptr && task->timer == timer.timer) on_timer(*task);
  }
}

void ExecutorClient::Loop::on_event(int descriptor, std::uint32_t events) {
  if (descriptor == wake_.get()) {
    std::uint64_t count = 0;
    if (::read(wake_.get(), &count, sizeof count) < 0) return;
    return run_posted();
  }
  if (children_.count(descriptor) != 0) return reap(descriptor);
  auto found = by_descriptor_.find(descriptor);
  if (found == by_descriptor_.end()) return;
  Task& task = *found->second;
  if ((events & EPOLLOUT) != 0) flush(task);
  if (task.socket.get() == descriptor && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0)
    read(task);
}

void ExecutorClient::Loop::reap(int descriptor) {
  auto child = children_.find(descriptor);
  siginfo_t status{};
  ::waitid(P_PIDFD, static_cast<id_t>(descriptor), &status, WEXITED | WNOHANG);
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, descriptor, nullptr);
  children_.erase(child);
}

bool ExecutorClient::Loop::watch(int descriptor, Task* task) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = descriptor;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0) return false;
  if (task != nullptr) by_descriptor_[descriptor] = task;
  return true;
}

void ExecutorClient::Loop::disconnect(Task& task) {
  if (!task.socket) return;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, task.socket.get(), nullptr);
  by_descriptor_.erase(task.socket.get());
  task.socket.reset();
  task.wants_write = false;
  task.received.clear();
  for (auto& [id, done] : std::exchange(task.requests, {})) {
    if (done) done(Error{Errc::unavailable, "the connection to executor " + task.key + " broke"});
  }
}

void ExecutorClient::Loop::flush(Task& task) {
  while (!task.output.empty()) {
    ssize_t sent = ::send(task.socket.get(), task.output.data(), task.output.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    // A broken connection shows as readable, and is handled there.
    if (sent < 0) break;
    task.output.erase(0, static_cast<std::size_t>(sent));
  }
  bool wants_write = !task.output.empty();
  if (wants_write == task.wants_write) return;
  task.wants_write = wants_write;
  epoll_event event{};
  event.events = wants_write ? EPOLLIN | EPOLLOUT : EPOLLIN;
  event.data.fd = task.socket.get();
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, task.socket.get(), &event);
}

Result<> ExecutorClient::Loop::send(Task& task,
                                    const std::function<void(executor::Message::Builder)>& fill) {
  auto framed = executor::frame(task.next_request++, fill);
  if (framed.size() > executor::max_message_bytes)
    return Error{
        Errc::too_large,
        fmt::format("what the executor is to be told has {} bytes, at most {} can be sent: "
                    "environment or arguments are too large",
                    framed.size(), executor::max_message_bytes)};
  task.output += framed;
  flush(task);
  return {};
}

void ExecutorClient::Loop::request(Task& task,
                                   ExecutorDone done,
                                   const std::function<void(executor::Message::Builder)>& fill) {
  const auto id = task.next_request;
  task.requests[id] = std::move(done);
  if (const auto sent = send(task, fill); !sent) {
    const auto asked = task.requests.extract(id);
    if (asked.mapped()) asked.mapped()(sent.error());
  }
}

void ExecutorClient::Loop::read(Task& task) {
  std::array<char, 16 * 1024> buffer;
  int descriptor = task.socket.get();
  ssize_t got = executor::receive_with(descriptor, buffer.data(), buffer.size(), task.received);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0 || task.received.size() > 2 * executor::max_descriptors) return on_broken(task);
  task.reader.append({buffer.data(), static_cast<std::size_t>(got)});
  auto outcome = executor::FrameReader::Outcome::message;
  while (outcome == executor::FrameReader::Outcome::message && !task.removed
         && task.socket.get() == descriptor)
    outcome
        = task.reader.next([&](executor::Message::Reader message) { on_message(task, message); });
  if (outcome == executor::FrameReader::Outcome::malformed && !task.removed) {
    log::warn("client.executor", "an executor sent a malformed message", {{"key", task.key}});
    on_broken(task);
  }
}

}  // namespace nomad::host
