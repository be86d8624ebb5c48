// runtime/workload/task_machine: transcripts of what can happen to a task, and a task under random
// events in a world that fails.
#include "runtime/workload/task_machine.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include <doctest/doctest.h>

#include "runtime/base/overloaded.hpp"
#include "runtime/jobspec/cron/task_schedule.hpp"
#include "test/support/transcript.hpp"
#include "test/unit/runtime/workload/task_transcript.hpp"

using namespace std::chrono_literals;
using namespace nomad;
using namespace nomad::workload;
using namespace nomad::workload::task_action;

TEST_CASE("task_machine: transcripts") {
  test::check_transcripts(NOMAD_TRANSCRIPTS, test::replay_task);
}

namespace {

Error error_of(Random& random) {
  constexpr Errc codes[] = {Errc::io, Errc::unavailable, Errc::timeout, Errc::rejected};
  return {codes[random.below(4)], "no luck"};
}

/// A disk that writes rows in their order, a driver, hooks and a clock around one task, each of
/// which fails now and then; and an agent that dies. `look` holds what must be true at any moment.
class World {
public:
  explicit World(std::uint64_t seed) : random_{seed} {
    traits_ = {.alloc_id = "alloc",
               .name = "web",
               .is_poststop = random_.chance(0.2),
               .is_system_job = random_.chance(0.2),
               .restarts_on_success = random_.chance(0.5)};
    terms_ = {.restart = {.attempts = static_cast<std::int64_t>(random_.below(4)),
                          .interval = 30min,
                          .delay = 15s,
                          .delays = random_.chance(0.3)},
              .kill_timeout = 5s,
              .shutdown_delay = random_.chance(0.5) ? Nanoseconds{10s} : Nanoseconds{0}};
    if (random_.chance(0.5)) set_schedule();
    TaskHooks hooks;
    for (std::uint64_t i = random_.below(4); i > 0; --i)
      hooks.push_back(
          {.name = std::to_string(i), .announcement = random_.chance(0.5) ? "Preparing" : ""});
    for (auto& hook : hooks)
      for (const auto phase : {HookPhase::PRESTART, HookPhase::POSTSTART, HookPhase::PRE_KILL,
                               HookPhase::EXITED, HookPhase::STOP})
        if (random_.chance(0.6)) hook.asked_in.push_back(phase);
    hooks_ = std::make_shared<const TaskHooks>(std::move(hooks));
    start_agent(std::nullopt);
  }

  /// Something happens.
  void step() {
    now_.steady += 1ms;
    now_.unix += 1'000'000;
    const auto dice = random_.below(100);
    if (dice < 55)
      answer_one(/*may_fail=*/true);
    else if (dice < 60)
      end_process();
    else if (dice < 62)
      crash();
    else if (dice < 66)
      say_nonsense();
    else if (dice < 70)
      flush(random_.below(rows_.size() + 1));
    else
      ask_something();
    carry_out();
  }

  /// From now on nothing fails any more: the killed task has to end.
  void drain() {
    kill();
    carry_out();
    for (int i = 0; i < 500 && !ended_; ++i)
      answer_one(/*may_fail=*/false);
    flush(rows_.size());
    REQUIRE(ended_);
    REQUIRE(published_->state == TaskRunState::DEAD);
    REQUIRE(durable_.run_complete);
    REQUIRE(durable_.run_id.empty());
    REQUIRE(asked_ == answered_);
    REQUIRE(live() == 0);
  }

private:
  struct Process {
    bool lives = true;
    ExitResult result;
  };

  /// Somebody owes the machine a word.
  struct Owed {
    Round round;
    std::function<void(bool may_fail)> say;
  };

  struct Row {
    Round round;  ///< 0: nobody waits for it.
    TaskRecord record;
  };

  void start_agent(std::optional<TaskRecord> saved) {
    machine_.emplace(traits_, hooks_, terms_, std::move(saved), Random{random_.next()}, now_);
    killed_ = begun_ = ended_ = false;
    newest_ = 0;
    asked_.clear();
    answered_.clear();
    published_ = machine_->record().state;
    alarm_ = 0;
  }

  void crash() {
    flush(random_.below(rows_.size() + 1));
    rows_.clear();
    owed_.clear();
    // A process that could not be ended and was given up is nobody's any more.
    if (stops_ >= TaskMachine::max_stop_attempts) processes_.clear();
    stops_ = 0;
    started_here_.clear();
    start_agent(has_row_ ? std::optional{durable_} : std::nullopt);
  }

  // -- what the machine hears --------------------------------------------------------------------

  void answer_one(bool may_fail) {
    if (!begun_) {
      begun_ = true;
      machine_->begin(now_);
    } else if (!owed_.empty()) {
      const auto index = may_fail ? random_.below(owed_.size()) : 0;
      const auto owed = owed_[index];
      owed_.erase(owed_.begin() + static_cast<std::ptrdiff_t>(index));
      expect_silence_if(owed.round != 0 && owed.round != newest_,
                        [&owed, may_fail] { owed.say(may_fail); });
    } else if (!may_fail) {
      end_process();
    }
    carry_out();
  }

  /// An answer to something that was asked long ago, or never.
  void say_nonsense() {
    const auto round = newest_ == 0 ? 77 : random_.below(newest_);
    expect_silence_if(true, [this, round] {
      switch (random_.below(8)) {
        case 0:
          return machine_->recovered(round, machine_->record().run_id, now_);
        case 1:
          return machine_->prestart_done(round, {.done = true, .data = {}, .env = {}}, now_);
        case 2:
          return machine_->hook_answered(round, {}, now_);
        case 3:
          return machine_->saved(round, {}, now_);
        case 4:
          return machine_->started(round, {}, {}, now_);
        case 5:
          return machine_->destroyed(round, {}, now_);
        case 6:
          return machine_->time_over(round, now_);
        default:
          return machine_->exited("alloc/web/another", {}, now_);
      }
    });
  }

  template <class Function>
  void expect_silence_if(bool stale, Function say) {
    const auto before = to_object(machine_->record());
    say();
    if (!stale) return;
    REQUIRE(machine_->take().empty());
    REQUIRE(before.equals(to_object(machine_->record())));
  }

  void ask_something() {
    switch (random_.below(13)) {
      case 10:
        return give_order();
      case 11:
        return pass_time();
      case 12:
        if (random_.chance(0.2)) set_schedule();
        if (random_.chance(0.1)) terms_.schedule = nullptr;
        return machine_->set_terms(terms_, now_);
      case 0:
        if (random_.chance(0.2)) kill();
        return;
      case 1:
      case 2:
      case 3:
        return machine_->set_gate(random_.chance(0.8), now_);
      case 4:
        return machine_->servers_contacted(now_);
      case 5:
        asked_.insert(++ticket_);
        return machine_->restart({.ticket = ticket_,
                                  .event = task_event::restart_asked(now_.unix, "test"),
                                  .failure = random_.chance(0.3),
                                  .force = random_.chance(0.5)},
                                 now_);
      case 6:
        return random_.chance(0.1) ? machine_->skip_delay(now_) : machine_->driver_replaced();
      case 7:
        return machine_->tell(task_event::make(task_event::reconnected, now_.unix), now_);
      case 8:
        if (random_.chance(0.1)) terms_.alloc_stops = true;
        return machine_->set_terms(terms_, now_);
      default:
        if (!begun_ && random_.chance(0.1)) machine_->fail_setup("no luck");
    }
  }

  /// The first half of each hour.
  void set_schedule() {
    terms_.schedule = std::make_shared<const jobspec::TaskSchedule>(
        jobspec::TaskSchedule::parse("0 * * * * *", "30 *", "UTC").value());
  }

  bool is_paused_now() const {
    const auto state = machine_->schedule_state(now_);
    return state.has_value() && is_pause(*state);
  }

  void pass_time() {
    now_.unix += static_cast<std::int64_t>(random_.below(40)) * 60'000'000'000;
    if (alarm_ == 0) return;
    const auto number = std::exchange(alarm_, 0);
    expect_silence_if(false, [this, number] { machine_->alarm_over(number, now_); });
    carry_out();
    REQUIRE((machine_->step() != TaskMachine::State::running || killed_ || !is_paused_now()));
    REQUIRE((machine_->step() != TaskMachine::State::paused || is_paused_now()));
  }

  void give_order() {
    using schema::TaskScheduleOrder;
    constexpr TaskScheduleOrder orders[]
        = {TaskScheduleOrder::SCHEDULED, TaskScheduleOrder::RUN, TaskScheduleOrder::PAUSE};
    const auto restarts = machine_->record().state->restarts;
    const auto outcome = machine_->set_schedule(orders[random_.below(3)], now_);
    if (!outcome) REQUIRE(outcome.error().code == Errc::rejected);
    REQUIRE(machine_->record().state->restarts == restarts);
  }

  void kill() {
    killed_ = true;
    machine_->kill({.event = task_event::killing_within(now_.unix, 5s), .skip_delay = false}, now_);
  }

  // -- the driver --------------------------------------------------------------------------------

  std::size_t live() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(processes_, [](const auto& entry) { return entry.second.lives; }));
  }

  /// The live process, if there is one, ends.
  void end_process() {
    for (auto& [run_id, process] : processes_) {
      if (!process.lives) continue;
      process.lives = false;
      process.result.code = static_cast<int>(random_.below(2));
      tell_exit(run_id);
    }
  }

  void tell_exit(const std::string& run_id) {
    owe(0, [this, run_id, result = processes_.at(run_id).result](bool) {
      machine_->exited(run_id, result, now_);
    });
  }

  void start(Round round) {
    const auto run_id = machine_->record().run_id;
    REQUIRE_FALSE(killed_);
    REQUIRE(live() == 0);
    REQUIRE_FALSE(run_id.empty());
    REQUIRE(durable_.run_id == run_id);
    REQUIRE(runs_.insert(run_id).second);
    started_here_ = run_id;
    handle_was_saved_ = false;
    stops_ = 0;
    if (random_.chance(0.8)) {
      processes_[run_id] = {};
      owe(round, [this, round](bool) { machine_->started(round, {1, "handle"}, {}, now_); });
      return;
    }
    if (random_.chance(0.2)) {  // It ran, for a moment.
      processes_[run_id].lives = false;
      tell_exit(run_id);
    }
    owe(round, [this, round](bool) {
      const bool recoverable = random_.chance(0.5);
      machine_->start_failed(round, error_of(random_), recoverable, now_);
    });
  }

  void recover(Round round) {
    const auto& record = machine_->record();
    const auto found = processes_.find(record.run_id);
    if (found == processes_.end() || random_.chance(0.2)) {
      const Error err{found == processes_.end() ? Errc::not_found : Errc::unavailable, "lost"};
      owe(round, [this, round, err](bool) { machine_->recovery_failed(round, err, now_); });
      return;
    }
    if (!found->second.lives) tell_exit(found->first);
    owe(round,
        [this, round](bool) { machine_->recovered(round, machine_->record().run_id, now_); });
  }

  void stop(Round round) {
    ++stops_;
    owe(round, [this, round](bool may_fail) {
      if (live() == 0 && random_.chance(0.5))
        machine_->stop_failed(round, {Errc::not_found, "no such task"}, now_);
      else if (may_fail && random_.chance(0.3))
        machine_->stop_failed(round, error_of(random_), now_);
      else
        machine_->stop_taken(round, now_);
    });
    if (random_.chance(0.5)) end_process();
  }

  void destroy(Round round) {
    if (machine_->step() == TaskMachine::State::destroying) {
      REQUIRE((durable_.run_id.empty() || save_failed_));
      REQUIRE((live() == 0 || stops_ >= TaskMachine::max_stop_attempts));
    }
    processes_.clear();
    owe(round, [this, round](bool may_fail) {
      Result<> outcome;
      if (may_fail && random_.chance(0.1)) outcome = error_of(random_);
      machine_->destroyed(round, outcome, now_);
    });
  }

  // -- the disk ----------------------------------------------------------------------------------

  void flush(std::size_t count) {
    for (; count > 0; --count) {
      durable_ = std::move(rows_.front().record);
      has_row_ = true;
      rows_.pop_front();
    }
  }

  void save(const Save& action) {
    rows_.push_back({action.round, to_task_record(*action.row)});
    owe(action.round, [this, round = action.round](bool may_fail) {
      const auto row = std::ranges::find(rows_, round, &Row::round);
      handle_was_saved_ = true;
      save_failed_ = may_fail && random_.chance(0.1);
      if (row != rows_.end() && save_failed_)
        rows_.erase(row);
      else if (row != rows_.end())  // Otherwise it was written before anybody knew.
        flush(static_cast<std::size_t>(row - rows_.begin()) + 1);
      Result<> outcome;
      if (save_failed_) outcome = error_of(random_);
      machine_->saved(round, outcome, now_);
    });
  }

  // -- what the machine wants --------------------------------------------------------------------

  void owe(Round round, std::function<void(bool)> say) { owed_.push_back({round, std::move(say)}); }

  void carry_out() {
    for (auto actions = machine_->take(); !actions.empty(); actions = machine_->take())
      for (const auto& action : actions) {
        const bool is_answer = std::holds_alternative<AnswerRestart>(action);
        REQUIRE((!ended_ || is_answer));
        carry_out(action);
        look();
      }
  }

  /// A crash now would leave no process that the next agent does not know.
  void look() {
    REQUIRE(live() <= 1);
    for (const auto& [run_id, process] : processes_)
      if (process.lives && stops_ < TaskMachine::max_stop_attempts)
        REQUIRE(durable_.run_id == run_id);
  }

  Round newest(Round round) {
    REQUIRE(round > newest_);
    return newest_ = round;
  }

  void carry_out(const TaskAction& action) {
    std::visit(
        Overloaded{[this](const Publish& it) { publish(it.state); },
                   [this](const SaveLater& it) {
                     rows_.push_back({0, to_task_record(*it.row)});
                   },
                   [this](const Save& it) {
                     newest(it.round);
                     save(it);
                   },
                   [this](const Recover& it) { recover(newest(it.round)); },
                   [this](const Reattach&) { REQUIRE(machine_->is_alive()); },
                   [this](const AskWanted& it) {
                     machine_->hook_wanted(newest(it.round), random_.chance(0.9), now_);
                   },
                   [this](const RunHook& it) { run_hook(newest(it.round), it); },
                   [this](const CancelHook& it) { REQUIRE(it.hook < hooks_->size()); },
                   [this](const SetAlarm& it) {
                     REQUIRE(it.delay > 0s);
                     REQUIRE(it.delay <= 1min);
                     alarm_ = it.number;
                   },
                   [this](const Configure& it) {
                     REQUIRE_FALSE(is_paused_now());
                     Result<> outcome;
                     if (random_.chance(0.05)) outcome = error_of(random_);
                     machine_->configured(newest(it.round), outcome, now_);
                   },
                   [this](const Start& it) { start(newest(it.round)); },
                   [this](const Stop& it) { stop(newest(it.round)); },
                   [this](const Destroy& it) { destroy(newest(it.round)); },
                   [this](const Wait& it) {
                     owe(newest(it.round), [this, it](bool) {
                       now_.steady += it.delay;
                       machine_->time_over(it.round, now_);
                     });
                   },
                   [this](const AnswerRestart& it) { REQUIRE(answered_.insert(it.ticket).second); },
                   [](const Log&) {}, [this](const End&) { ended_ = true; }},
        action);
  }

  void publish(const std::shared_ptr<const TaskState>& state) {
    const auto& run_id = machine_->record().run_id;
    if (published_->state != TaskRunState::RUNNING && state->state == TaskRunState::RUNNING
        && !run_id.empty() && run_id == started_here_)
      REQUIRE(handle_was_saved_);
    if (published_->failed) REQUIRE(state->failed);
    published_ = state;
  }

  void run_hook(Round round, const RunHook& run) {
    const auto& hook = (*hooks_)[run.hook];
    REQUIRE(std::ranges::count(hook.asked_in, run.phase) == 1);
    if (run.phase != HookPhase::PRESTART) {
      owe(round, [this, round](bool may_fail) {
        Result<> outcome;
        if (may_fail && random_.chance(0.2)) outcome = error_of(random_);
        machine_->hook_answered(round, outcome, now_);
      });
      return;
    }
    owe(round, [this, round](bool may_fail) {
      if (may_fail && random_.chance(0.1))
        machine_->prestart_failed(round, error_of(random_), now_);
      else
        machine_->prestart_done(round, {.done = random_.chance(0.3), .data = {}, .env = {}}, now_);
    });
  }

  Random random_;
  EventTime now_{.steady = 100s, .unix = 1'700'000'000'000'000'000};
  TaskTraits traits_;
  TaskTerms terms_;
  std::shared_ptr<const TaskHooks> hooks_;

  TaskRecord durable_;  ///< What the next agent would find.
  bool has_row_ = false;
  std::deque<Row> rows_;  ///< On their way to the disk.
  std::map<std::string, Process> processes_;
  std::set<std::string> runs_;

  // Of this agent.
  std::optional<TaskMachine> machine_;
  std::deque<Owed> owed_;
  Round newest_ = 0;
  std::shared_ptr<const TaskState> published_;
  std::uint64_t ticket_ = 0;
  std::set<std::uint64_t> asked_, answered_;
  bool begun_ = false, killed_ = false, ended_ = false;
  bool save_failed_ = false, handle_was_saved_ = false;
  std::string started_here_;
  std::uint64_t alarm_ = 0;
  int stops_ = 0;  ///< Of the current run.
};

}  // namespace

TEST_CASE("task_machine: whatever happens, no process is lost or doubled, and a kill ends it") {
  for (std::uint64_t seed = 1; seed <= 1'000; ++seed) {
    CAPTURE(seed);
    World world{seed};
    for (auto steps = Random{seed}.below(400); steps > 0; --steps)
      world.step();
    world.drain();
  }
}
