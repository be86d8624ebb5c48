#include "runtime/plugin/bridge/left_tasks.hpp"

#include <utility>

#include <fmt/format.h>

namespace nomad::plugin::bridge {
namespace {

using namespace std::chrono_literals;
using Stub = drivers::Driver::StubInterface::async_interface;

/// Together less than the agent's patience with a destruction, a minute.
constexpr auto find_patience = 10s;
constexpr auto end_patience = 45s;
/// The agent says first what it wants of those that a process finds when it begins.
constexpr Nanoseconds first_pause = 5s;

/// A name of its own for each run: a task may have left several.
TaskId name_of(const drivers::KeptRun& run) {
  return {run.handle().config().alloc_id(), run.run_id()};
}

}  // namespace

bool is_away(const Refusal& why) {
  switch (why.error.code) {
    case Errc::unavailable:
    case Errc::timeout:
    case Errc::cancelled:
    case Errc::too_large:  // RESOURCE_EXHAUSTED
      return true;
    default:
      return false;
  }
}

LeftTasks::LeftTasks(Agent& agent, Remote& remote, const std::string& directory, Gone gone)
    : agent_{agent}, remote_{remote}, files_{directory}, gone_{std::move(gone)} {
  for (auto& [id, run] : files_.all()) {
    const auto entry = std::make_shared<Entry>();
    entry->run = std::move(run);
    left_[entry->id()] = entry;
    agent_.after(first_pause, [this, entry] { attempt(entry); });
  }
}

void LeftTasks::destroy(drivers::KeptRun run, bool is_held, std::function<void()> tried) {
  const auto entry = std::make_shared<Entry>();
  entry->run = std::move(run);
  entry->is_held = is_held;
  entry->tried = std::move(tried);
  left_[entry->id()] = entry;
  if (const auto put = files_.put(name_of(entry->run), entry->run); !put)
    agent_.log(Level::warn, fmt::format("task {} is destroyed without a record: {}", entry->id(),
                                        put.error().what));
  attempt(entry);
}

void LeftTasks::withdraw(const std::string& remote_id) {
  const auto found = left_.find(remote_id);
  if (found == left_.end()) return;
  const auto entry = found->second;
  left_.erase(found);
  files_.forget(name_of(entry->run));
  if (const auto tried = std::exchange(entry->tried, nullptr)) tried();
}

bool LeftTasks::is_left(const EntryPtr& entry) const {
  const auto found = left_.find(entry->id());
  return found != left_.end() && found->second == entry;
}

void LeftTasks::attempt(const EntryPtr& entry) {
  if (!is_left(entry)) return;
  ++entry->tries;
  if (entry->is_held)
    ask_destroy(entry);
  else
    find_again(entry);
}

/// A program that has not started a task itself destroys none before it has found it.
void LeftTasks::find_again(const EntryPtr& entry) {
  drivers::RecoverTaskRequest request;
  request.set_task_id(entry->id());
  *request.mutable_handle() = entry->run.handle();
  remote_.ask<drivers::RecoverTaskRequest, drivers::RecoverTaskResponse>(
      "RecoverTask", &Stub::RecoverTask, std::move(request), find_patience,
      [this, entry](const drivers::RecoverTaskResponse* response, const Refusal& why) {
        if (!is_left(entry)) return;
        if (response == nullptr && why.error.code == Errc::not_found) return finish(entry);
        if (response == nullptr && is_away(why)) return failed(entry, why);
        // It may know the task although it can't find it again, as Nomad holds, too.
        entry->is_held = response != nullptr;
        ask_destroy(entry);
      });
}

/// By force.
void LeftTasks::ask_destroy(const EntryPtr& entry) {
  drivers::DestroyTaskRequest request;
  request.set_task_id(entry->id());
  request.set_force(true);
  remote_.ask<drivers::DestroyTaskRequest, drivers::DestroyTaskResponse>(
      "DestroyTask", &Stub::DestroyTask, std::move(request), end_patience,
      [this, entry](const drivers::DestroyTaskResponse* response, const Refusal& why) {
        if (!is_left(entry)) return;
        if (response != nullptr || why.error.code == Errc::not_found) return finish(entry);
        failed(entry, why);
      });
}

void LeftTasks::finish(const EntryPtr& entry) {
  left_.erase(entry->id());
  files_.forget(name_of(entry->run));
  if (entry->tries > 1) agent_.log(Level::info, fmt::format("task {} is gone by now", entry->id()));
  gone_(entry->run);
  if (const auto tried = std::exchange(entry->tried, nullptr)) tried();
}

void LeftTasks::failed(const EntryPtr& entry, const Refusal& why) {
  if (entry->tries >= most_tries) {
    agent_.log(Level::error,
               fmt::format("task {} is not destroyed, and not tried again before the plugin is "
                           "started anew: {}",
                           entry->id(), why.error.what));
    return;
  }
  if (entry->tries == 1)
    agent_.log(Level::warn, fmt::format("what is left of task {} is not gone, and tried again: {}",
                                        entry->id(), why.error.what));
  agent_.after(entry->pauses.next(), [this, entry] { attempt(entry); });
  if (const auto tried = std::exchange(entry->tried, nullptr)) tried();
}

}  // namespace nomad::plugin::bridge
