#include "test/unit/runtime/workload/task_transcript.hpp"

#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>

#include "runtime/base/overloaded.hpp"
#include "runtime/jobspec/cron/task_schedule.hpp"
#include "runtime/workload/task_machine.hpp"

namespace nomad::test {
namespace {

using namespace std::chrono_literals;
using namespace workload;
using namespace workload::task_action;
namespace event = workload::task_event;

struct Spec {
  TaskTraits traits{.alloc_id = "alloc", .name = "web"};
  // A restart delay of four nanoseconds has no jitter.
  TaskTerms terms{.restart = {.attempts = 2, .interval = 30min, .delay = 4ns},
                  .kill_signal = "SIGINT",
                  .kill_timeout = 5s};
  TaskHooks hooks{};
  std::set<std::string> unwanted{};
  bool bad_config = false;
  std::optional<TaskRecord> restored{};
};

TaskRecord restored(const std::string& state, const std::string& how) {
  TaskRecord record;
  auto task = std::make_shared<TaskState>();
  if (state == "running") task->enter(TaskRunState::RUNNING, 1);
  if (state == "dead") task->enter(TaskRunState::DEAD, 1);
  record.state = std::move(task);
  if (state != "dead") record.run_id = "alloc/web/old";
  record.has_handle = state == "running";
  record.run_complete = how == "complete";
  if (how.ends_with("paused")) {
    record.set_paused(TaskScheduleState::SCHEDULED_PAUSE);
    record.add(event::pausing_due_to_schedule(1, false));
  }
  if (state == "ordered") {
    record.run_id.clear();
    record.schedule_order = schema::TaskScheduleOrder::RUN;
  }
  if (how.starts_with("ended")) {
    record.run_id.clear();
    record.has_handle = false;
    if (how == "ended_killed") record.add(event::killing_within(1, 5s));
    record.add(event::exited(1, {.code = how == "ended" ? 0 : 1}));
  }
  return record;
}

/// In transcripts it is 22:13:20 and a second more with each event, unless time passes.
std::shared_ptr<const jobspec::TaskSchedule> schedule_of(const std::string& name) {
  const auto* start = name == "now"    ? "10 22 * * * *"
                      : name == "soon" ? "14 22 * * * *"
                                       : "0 9 * * * *";
  const auto* end = name == "now" || name == "soon" ? "20 22" : "0 16";
  return std::make_shared<const jobspec::TaskSchedule>(
      jobspec::TaskSchedule::parse(start, end, "UTC").value());
}

void read_option(Spec& spec, const std::string& option) {
  std::istringstream words{option};
  std::string what, first, second;
  words >> what >> first >> second;
  if (what == "batch" || what == "service")
    spec.traits.restarts_on_success = what == "service";
  else if (what == "poststop")
    spec.traits.is_poststop = true;
  else if (what == "system")
    spec.traits.is_system_job = true;
  else if (what == "attempts")
    spec.terms.restart.attempts = std::stoi(first);
  else if (what == "shutdown")
    spec.terms.shutdown_delay = parse_duration(second).value();
  else if (what == "schedule")
    spec.terms.schedule = schedule_of(first);
  else if (what == "unscheduled")
    spec.terms.schedule_error = "no such zone";
  else if (what == "function")
    spec.hooks.push_back({.name = first,
                          .announcement = second.empty() ? "" : "Building",
                          .asked_in = {HookPhase::PRESTART}});
  else if (what == "actor")
    spec.hooks.push_back({.name = first,
                          .asked_in = {HookPhase::PRESTART, HookPhase::POSTSTART,
                                       HookPhase::PRE_KILL, HookPhase::EXITED, HookPhase::STOP}});
  else if (what == "unwanted")
    spec.unwanted.insert(first);
  else if (what == "misconfigured")
    spec.bad_config = true;
  else if (what == "lost")
    spec.traits.may_run = true;
  else if (what == "restored")
    spec.restored = restored(first, second);
  else
    throw std::invalid_argument{"unknown option: " + option};
}

std::string_view name_of(TaskRunState state) {
  return state == TaskRunState::RUNNING ? "running"
         : state == TaskRunState::DEAD  ? "dead"
                                        : "pending";
}

std::string_view name_of(HookPhase phase) {
  switch (phase) {
    case HookPhase::POSTSTART:
      return "poststart";
    case HookPhase::PRE_KILL:
      return "pre_kill";
    case HookPhase::EXITED:
      return "exited";
    case HookPhase::STOP:
      return "stop";
    default:
      return "prestart";
  }
}

class Player {
public:
  explicit Player(Spec spec)
      : spec_{std::move(spec)}, machine_{spec_.traits,
                                         std::make_shared<const TaskHooks>(spec_.hooks),
                                         spec_.terms,
                                         spec_.restored,
                                         Random{7},
                                         now_} {}

  /// What the machine does about an event, a line each.
  std::string play(const std::string& line) {
    std::istringstream words{line};
    std::string what, how, why;
    words >> what >> how >> why;
    now_.steady += 1s;
    now_.unix += 1'000'000'000;
    if (how == "fails")
      fail(what, why);
    else if (!answer(what, how) && !request(what, how, why))
      throw std::invalid_argument{"unknown event: " + line};
    std::string done;
    if (!said_.empty()) done = "  " + std::exchange(said_, {}) + '\n';
    for (auto actions = machine_.take(); !actions.empty(); actions = machine_.take())
      for (const auto& action : actions)
        if (const auto text = perform(action); !text.empty()) done += "  " + text + '\n';
    return done;
  }

private:
  bool answer(const std::string& what, const std::string& how) {
    if (what == "recovered")
      machine_.recovered(
          round_, machine_.record().run_id.empty() ? "found" : machine_.record().run_id, now_);
    else if (what == "done" && phase_ == HookPhase::PRESTART)
      machine_.prestart_done(round_, {.done = how == "forever", .data = {{"x", how}}, .env = {}},
                             now_);
    else if (what == "done")
      machine_.hook_answered(round_, {}, now_);
    else if (what == "saved")
      machine_.saved(round_, {}, now_);
    else if (what == "started")
      machine_.started(round_, {1, "handle"}, {}, now_);
    else if (what == "taken")
      machine_.stop_taken(round_, now_);
    else if (what == "destroyed")
      machine_.destroyed(round_, {}, now_);
    else if (what == "time")
      machine_.time_over(how == "stale" ? timer_ : round_, now_);
    else if (what == "exit")
      machine_.exited(how == "stale"   ? "alloc/web/other"
                      : how == "early" ? "found"
                                       : machine_.record().run_id,
                      {.code = how == "0" ? 0 : 1}, now_);
    else
      return false;
    return true;
  }

  void fail(const std::string& what, const std::string& why) {
    const Error err{why == "not_found"     ? Errc::not_found
                    : why == "unavailable" ? Errc::unavailable
                                           : Errc::io,
                    "no luck"};
    if (what == "recover")
      machine_.recovery_failed(round_, err, now_);
    else if (what == "hook" && phase_ == HookPhase::PRESTART)
      machine_.prestart_failed(round_, err, now_);
    else if (what == "hook")
      machine_.hook_answered(round_, err, now_);
    else if (what == "save")
      machine_.saved(round_, err, now_);
    else if (what == "start")
      machine_.start_failed(round_, err, why == "unavailable", now_);
    else if (what == "stop")
      machine_.stop_failed(round_, err, now_);
    else if (what == "destroy")
      machine_.destroyed(round_, err, now_);
    else if (what == "setup")
      machine_.fail_setup(err.what);
    else
      throw std::invalid_argument{"nothing that can fail: " + what};
  }

  bool request(const std::string& what, const std::string& how, const std::string& why) {
    const auto happened = [this](std::string_view type) { return event::make(type, now_.unix); };
    if (what == "begin")
      machine_.begin(now_);
    else if (what == "gate")
      machine_.set_gate(how == "open", now_);
    else if (what == "kill" && how == "quietly")
      machine_.kill({}, now_);
    else if (what == "kill")
      machine_.kill({.event = happened(event::killing), .skip_delay = how == "fast"}, now_);
    else if (what == "skip_delay")
      machine_.skip_delay(now_);
    else if (what == "tell")
      machine_.tell(happened(event::reconnected), now_);
    else if (what == "contacted")
      machine_.servers_contacted(now_);
    else if (what == "restart")
      machine_.restart({.ticket = std::stoull(how),
                        .event = happened(event::restart_signaled),
                        .failure = why == "failure",
                        .force = why == "force"},
                       now_);
    else if (what == "pass")
      now_.unix += parse_duration(how).value().count();
    else if (what == "alarm")
      machine_.alarm_over(how == "stale" ? stale_alarm_ : alarm_, now_);
    else if (what == "schedule")
      reschedule(how);
    else if (what == "order")
      order(how);
    else if (what == "count")
      said_ = fmt::format("restarts {}", machine_.record().state->restarts);
    else if (what == "driver_replaced")
      machine_.driver_replaced();
    else if (what == "alloc_stops" || what == "alloc_over")
      set_terms(what == "alloc_stops" ? spec_.terms.alloc_stops : spec_.terms.alloc_is_over);
    else
      return false;
    return true;
  }

  void reschedule(const std::string& name) {
    spec_.terms.schedule = name == "none" ? nullptr : schedule_of(name);
    machine_.set_terms(spec_.terms, now_);
  }

  void order(const std::string& what) {
    using schema::TaskScheduleOrder;
    const auto outcome = machine_.set_schedule(what == "run"     ? TaskScheduleOrder::RUN
                                               : what == "pause" ? TaskScheduleOrder::PAUSE
                                                                 : TaskScheduleOrder::SCHEDULED,
                                               now_);
    if (!outcome) said_ = "refused: " + outcome.error().what;
  }

  void set_terms(bool& changed) {
    changed = true;
    machine_.set_terms(spec_.terms, now_);
  }

  std::string perform(const TaskAction& action) {
    return std::visit(
        Overloaded{[this](const Publish& it) { return published(*it.state); },
                   [](const SaveLater&) -> std::string { return "save_later"; },
                   [this](const Save& it) { return waits(it.round, "save " + shown(it)); },
                   [this](const Recover& it) { return waits(it.round, "recover"); },
                   [](const Reattach&) -> std::string { return "reattach"; },
                   [this](const AskWanted& it) {
                     machine_.hook_wanted(it.round, !spec_.unwanted.contains(hook(it.hook)), now_);
                     return std::string{};
                   },
                   [this](const RunHook& it) {
                     phase_ = it.phase;
                     return waits(it.round, fmt::format("{} {}", hook(it.hook), name_of(phase_)));
                   },
                   [this](const CancelHook& it) { return "cancel " + hook(it.hook); },
                   [this](const Configure& it) { return configure(it.round); },
                   [this](const Start& it) {
                     return waits(it.round, "start " + run(machine_.record().run_id));
                   },
                   [this](const Stop& it) {
                     return waits(it.round,
                                  fmt::format("stop {} {}", it.signal, format_duration(it.grace)));
                   },
                   [this](const Destroy& it) { return waits(it.round, "destroy"); },
                   [this](const Wait& it) {
                     timer_ = it.round;
                     return waits(it.round, "wait " + format_duration(it.delay));
                   },
                   [this](const SetAlarm& it) {
                     stale_alarm_ = alarm_;
                     alarm_ = it.number;
                     return "alarm " + format_duration(it.delay);
                   },
                   [](const AnswerRestart& it) {
                     return fmt::format("answer {} {}", it.ticket, it.outcome ? "ok" : "refused");
                   },
                   [](const Log& it) { return fmt::format("log {}: {}", it.text, it.error); },
                   [](const End&) -> std::string { return "end"; }},
        action);
  }

  std::string configure(Round round) {
    Result<> outcome;
    if (spec_.bad_config) outcome = Error{Errc::invalid_argument, "no object"};
    machine_.configured(round, outcome, now_);
    return {};
  }

  std::string waits(Round round, std::string text) {
    round_ = round;
    return text;
  }

  const std::string& hook(std::size_t index) const { return spec_.hooks[index].name; }

  std::string shown(const Save& save) {
    const auto row = to_task_record(*save.row);
    return (row.run_id.empty() ? "no run" : run(row.run_id))
           + (row.has_handle ? " with handle" : "");
  }

  /// "running [Started]": the state, with the events that are new since the last time. Of one that
  /// tells of a failure by an exit code, that code.
  std::string published(const TaskState& state) {
    std::string events;
    for (std::size_t i = events_; i < state.events.size(); ++i) {
      const auto code = state.events[i].detail("exit_code");
      events += (events.empty() ? "" : ", ") + state.events[i].type;
      if (!code.empty() && code != "0") events += fmt::format(" {}", code);
    }
    events_ = state.events.size();
    return fmt::format("publish {}{}{}", name_of(state.state), state.failed ? " failed" : "",
                       events.empty() ? "" : " [" + events + "]");
  }

  /// Run ids are "run 1", "run 2", in their order.
  std::string run(const std::string& id) {
    return fmt::format("run {}", runs_.try_emplace(id, runs_.size() + 1).first->second);
  }

  Spec spec_;
  EventTime now_{.steady = 100s, .unix = 1'700'000'000'000'000'000};
  TaskMachine machine_;
  Round round_ = 0;
  Round timer_ = 0;
  std::string said_;
  std::uint64_t alarm_ = 0;
  std::uint64_t stale_alarm_ = 0;
  HookPhase phase_ = HookPhase::PRESTART;
  std::size_t events_ = 0;
  std::map<std::string, std::size_t> runs_;
};

Player read_task(const std::string& line) {
  Spec spec;
  std::istringstream options{line};
  for (std::string option; std::getline(options, option, ',');)
    read_option(spec, option);
  return Player{std::move(spec)};
}

}  // namespace

std::string replay_task(const std::string& transcript) {
  std::istringstream lines{transcript};
  std::string played;
  std::optional<Player> player;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("  ")) continue;
    played += line + '\n';
    if (line.starts_with('#')) player = read_task("");
    if (line.starts_with("> task: "))
      player = read_task(line.substr(8));
    else if (line.starts_with("> "))
      played += player.value().play(line.substr(2));
  }
  return played;
}

}  // namespace nomad::test
