#include "cli/dev/dev_session.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "cli/output/terminal_text.hpp"

namespace nomad::cli::dev {
namespace {

/// Events of tasks that are told; the others are as they should be.
constexpr std::array told_events = std::to_array<std::string_view>(
    {"Driver Failure", "Failed Artifact Download", "Failed Validation", "Not Restarting",
     "Restarting", "Setup Failure", "Task hook failed", "Template", "Terminated"});

bool is_told(const std::string& type) {
  return std::ranges::find(told_events, type) != told_events.end();
}

bool is_terminal(const View& alloc) {
  const auto status = alloc["ClientStatus"].text();
  return status == "complete" || status == "failed" || status == "lost";
}

bool has_failed(const View& alloc) {
  return alloc["ClientStatus"].text() == "failed" && alloc["NextAllocation"].text().empty();
}

bool is_sole(const View& job) {
  const auto groups = job["TaskGroups"].items();
  if (groups.size() != 1) return false;
  const auto count = groups[0]["Count"];
  return groups[0]["Tasks"].items().size() == 1 && (count.is_null() || count.number() == 1);
}

}  // namespace

void DevSession::agent_ready() {
  if (phase_ != Phase::starting) return;
  phase_ = Phase::running;
  if (has_job_) act(Register{});
}

void DevSession::job_read(const View& job) {
  has_one_task_ = is_sole(job);
  has_job_ = true;
  if (phase_ != Phase::running) return;
  if (!is_registered_) return act(Register{});
  phase_ = Phase::stopping;
  act(Say{"The file was saved: the job is stopped and runs anew"});
  act(StopJob{});
}

void DevSession::job_unreadable(const std::string& why) {
  act(Say{why, true});
}

void DevSession::registered() {
  is_registered_ = true;
}

void DevSession::refused(const std::string& why) {
  is_registered_ = false;
  act(Say{why, true});
  if (once_) begin_end(1);
}

void DevSession::state(const View& allocations, const View& evaluations, const View& jobs) {
  if (phase_ == Phase::over || phase_ == Phase::starting) return;
  living_.clear();
  for (const auto& alloc : allocations.items()) {
    if (!is_terminal(alloc)) living_.insert(alloc["ID"].text());
    if (forgotten_.contains(alloc["ID"].text())) continue;
    follow(alloc);
    tell_events(alloc);
  }
  if (phase_ == Phase::running && is_registered_)
    for (const auto& eval : evaluations.items())
      if (eval["Status"].text() == "blocked" && explained_.insert(eval["ID"].text()).second)
        act(Explain{});
  look_at_end(allocations, jobs);
}

void DevSession::look_at_end(const View& allocations, const View& jobs) {
  auto allocs = allocations.items();
  std::erase_if(allocs,
                [this](const View& alloc) { return forgotten_.contains(alloc["ID"].text()); });
  const bool all_ended = std::ranges::all_of(allocs, is_terminal);
  if (!all_ended) return;
  if (phase_ == Phase::ending) {
    phase_ = Phase::closing;
    return act(EndAgent{});
  }
  if (phase_ == Phase::stopping) {
    for (const auto& alloc : allocs)
      forgotten_.insert(alloc["ID"].text());
    is_registered_ = false;
    phase_ = Phase::running;
    return act(Register{});
  }
  if (!once_ || phase_ != Phase::running || !is_registered_ || allocs.empty()) return;
  const auto all_jobs = jobs.items();
  const bool is_dead = std::ranges::all_of(
      all_jobs, [](const View& job) { return job["Status"].text() == "dead"; });
  if (is_dead && !all_jobs.empty()) begin_end(std::ranges::any_of(allocs, has_failed) ? 1 : 0);
}

void DevSession::follow(const View& alloc) {
  for (const auto& [name, task] : alloc["TaskStates"].members()) {
    const std::pair key{alloc["ID"].text(), name};
    if (!told_.try_emplace(key, 0).second) continue;
    const auto label = label_of(alloc, name);
    const auto number = labels_.try_emplace(label, labels_.size()).first->second;
    act(Follow{key.first, name, label, number});
  }
}

void DevSession::tell_events(const View& alloc) {
  for (const auto& [name, task] : alloc["TaskStates"].members()) {
    auto& told = told_[{alloc["ID"].text(), name}];
    for (const auto& event : task["Events"].items()) {
      const auto time = event["Time"].number();
      if (time <= told) continue;
      told = time;
      const auto type = event["Type"].text();
      if (is_told(type))
        act(Say{one_line(fmt::format("{}: {}: {}", label_of(alloc, name), type,
                                     event["DisplayMessage"].text())),
                type != "Terminated" || event["ExitCode"].number() != 0});
    }
  }
}

/// "t" of a job of one task, or "g[0]/t".
std::string DevSession::label_of(const View& alloc, const std::string& task) const {
  if (has_one_task_) return task;
  const auto name = alloc["Name"].text();
  const auto group = name.rfind('.' + alloc["TaskGroup"].text() + '[');
  return (group == std::string::npos ? name : name.substr(group + 1)) + '/' + task;
}

void DevSession::signal() {
  if (phase_ == Phase::over) return;
  if (phase_ != Phase::ending && phase_ != Phase::closing) return begin_end(code_);
  if (phase_ == Phase::closing || std::exchange(has_killed_, true))
    return act(EndAgent{.at_once = true});
  for (const auto& alloc : living_)
    act(Kill{alloc});
}

void DevSession::begin_end(int code) {
  code_ = code;
  const bool is_stopping = phase_ == Phase::stopping;
  if (!is_registered_ || phase_ == Phase::starting) {
    phase_ = Phase::closing;
    return act(EndAgent{});
  }
  phase_ = Phase::ending;
  if (!is_stopping) act(StopJob{});
}

void DevSession::agent_ended(const std::string& why) {
  if (phase_ == Phase::over) return;
  const bool was_wanted = phase_ == Phase::closing || phase_ == Phase::ending;
  phase_ = Phase::over;
  if (!was_wanted) act(Say{"The agent has ended: " + why, true});
  act(Finish{was_wanted ? code_ : 1});
}

}  // namespace nomad::cli::dev
