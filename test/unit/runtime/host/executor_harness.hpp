// Drives ExecutorClient from a test: real executors and processes, callbacks turned into waits.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>

#include <unistd.h>

#include "runtime/host/exec_pump.hpp"
#include "runtime/host/executor_client.hpp"
#include "temp_dir.hpp"
#include "test/support/cgroup_parents.hpp"
#include "test/support/eventually.hpp"

namespace nomad::host {

inline std::string executor_program() {
  const char* path = std::getenv("NOMADCTL_EXECUTOR");
  return path != nullptr ? path : "nomadctl-executor";
}

/// What a task's listener was told, for waiting on it.
class Heard {
public:
  TaskListener listener() {
    TaskListener listener;
    listener.started = [this](Result<TaskStarted> started) { set(started_, std::move(started)); };
    listener.exited = [this](const TaskExit& exit) { set(exited_, exit); };
    listener.lost = [this](const Error& error) { set(lost_, error); };
    return listener;
  }

  Result<TaskStarted> started() { return wait(started_); }

  TaskExit exited() { return wait(exited_); }

  Error lost() { return wait(lost_); }

  bool has_exited() {
    std::lock_guard lock{mutex_};
    return exited_.has_value();
  }

private:
  template <class T>
  void set(std::optional<T>& location, T value) {
    std::lock_guard lock{mutex_};
    if (location.has_value()) std::abort();  // each event comes once
    location.emplace(std::move(value));
    changed_.notify_all();
  }

  template <class T>
  T wait(std::optional<T>& location) {
    std::unique_lock lock{mutex_};
    if (!changed_.wait_for(lock, std::chrono::seconds{30}, [&] { return location.has_value(); }))
      throw std::runtime_error{"nothing was heard for 30 s"};
    return *location;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Result<TaskStarted>> started_;
  std::optional<TaskExit> exited_;
  std::optional<Error> lost_;
};

class Executors {
public:
  explicit Executors(bool cgroups = true) : cgroups_(cgroups) { open(); }

  /// Kills and removes whatever is left.
  ~Executors() {
    if (!client_) open();
    auto keys = client_->keys();
    for (const std::string& key : *keys) {
      if (purge(key).has_error()) std::abort();
    }
    test::remove_cgroup_parents(client_->cgroups().mounts(), cgroup_parent());
  }

  ExecutorClient& client() { return *client_; }

  ExecPumpOnDemand& pump() { return *pump_; }

  const TempDir& directory() const { return directory_; }

  std::string state_dir() const { return directory_ / "executors"; }

  std::string alloc_root() const { return directory_ / "alloc-root"; }

  std::string task_dir() const { return alloc_root() + "/web"; }

  std::string log(const std::string& name) {
    return read_text(alloc_root() + "/alloc/logs/" + name);
  }

  /// Waits until the log holds `text`; whether it does.
  bool logs(const std::string& name, const std::string& text) {
    return test::eventually_in(alloc_root() + "/alloc/logs",
                               [&] { return log(name).find(text) != std::string::npos; });
  }

  /// Waits until the executor's own record of the task holds `text`; whether it does.
  bool records(const std::string& key, const std::string& text) const {
    const auto folder = state_dir() + '/' + key;
    return test::eventually_in(
        folder, [&] { return read_text(folder + "/state").find(text) != std::string::npos; });
  }

  /// As if the agent ended and a new one came.
  void reopen() {
    pump_ = std::make_unique<ExecPumpOnDemand>();
    client_.reset();
    open();
  }

  TaskCommand shell(const std::string& script, const std::string& run_id = "run-1") {
    TaskCommand command;
    command.run_id = run_id;
    command.command = "/bin/sh";
    command.arguments = {"-c", script};
    command.environment = {"PATH=/usr/bin:/bin", "GREETING=hello"};
    command.task_directory = task_dir();
    command.logs = TaskLogs{.alloc_root = alloc_root(), .task = "web"};
    command.use_cgroup = cgroups_;
    return command;
  }

  /// Runs a task to its end and acknowledges it.
  TaskExit run(const std::string& key, TaskCommand command) {
    Heard heard;
    client_->start(key, std::move(command), heard.listener());
    if (const auto started = heard.started(); started.has_error())
      throw std::runtime_error{started.error().what};
    const auto exit = heard.exited();
    if (const auto done = acknowledge(key); done.has_error())
      throw std::runtime_error{done.error().what};
    return exit;
  }

  Result<> signal(const std::string& key, int number) {
    return wait([&](ExecutorDone done) { client_->signal(key, number, std::move(done)); });
  }

  Result<> stop(const std::string& key, int number, std::chrono::milliseconds grace) {
    return wait([&](ExecutorDone done) { client_->stop(key, number, grace, std::move(done)); });
  }

  Result<> acknowledge(const std::string& key) {
    return wait([&](ExecutorDone done) { client_->acknowledge(key, std::move(done)); });
  }

  Result<> purge(const std::string& key) {
    return wait([&](ExecutorDone done) { client_->purge(key, std::move(done)); });
  }

private:
  std::string cgroup_parent() const { return "nomad-test-" + std::to_string(::getpid()); }

  void open() {
    std::filesystem::create_directories(alloc_root() + "/alloc/logs");
    std::filesystem::create_directories(task_dir() + "/local");
    auto opened = ExecutorClient::open({.executor_path = executor_program(),
                                        .state_dir = state_dir(),
                                        .cgroup_parent = cgroup_parent(),
                                        .use_cgroups = cgroups_});
    client_ = std::move(*opened);
  }

  template <class Order>
  Result<> wait(Order order) {
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<Result<>> outcome;
    order([&](Result<> result) {
      std::lock_guard lock{mutex};
      outcome = std::move(result);
      changed.notify_all();
    });
    std::unique_lock lock{mutex};
    if (!changed.wait_for(lock, std::chrono::seconds{30}, [&] { return outcome.has_value(); }))
      std::abort();  // the order's callback refers to this frame
    return *outcome;
  }

  bool cgroups_;
  TempDir directory_;
  std::unique_ptr<ExecPumpOnDemand> pump_ = std::make_unique<ExecPumpOnDemand>();
  std::unique_ptr<ExecutorClient> client_;
};

}  // namespace nomad::host
