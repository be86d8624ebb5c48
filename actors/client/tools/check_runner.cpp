#include "actors/client/tools/check_runner.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "actors/core/newest.hpp"
#include "actors/core/supervise.hpp"
#include "actors/core/turns.hpp"
#include "runtime/base/random.hpp"
#include "runtime/base/text.hpp"
#include "runtime/workload/checks/check_restart.hpp"

namespace nomad::client {
namespace {

using workload::CheckKind;
using workload::CheckSchedule;
using workload::ServiceCheck;

/// How much longer than its timeout a script may take to be started and ended.
constexpr Nanoseconds script_patience = std::chrono::seconds{10};

/// Checks may be due.
struct ChecksDue {
  using is_message = void;
  std::uint64_t round;
};

using CheckSelf = actor::WithInternal<CheckRunner, void(ChecksDue)>;

probe::Probe probe_of(const ServiceCheck& check) {
  probe::Probe probe;
  probe.kind = check.kind == CheckKind::http   ? probe::Kind::http
               : check.kind == CheckKind::grpc ? probe::Kind::grpc
                                               : probe::Kind::tcp;
  probe.host = check.host;
  probe.port = check.port;
  probe.timeout = std::chrono::ceil<std::chrono::milliseconds>(check.timeout);
  probe.tls = check.kind == CheckKind::http ? check.protocol == "https" : check.grpc_use_tls;
  probe.tls_server_name = check.tls_server_name;
  probe.tls_skip_verify = check.tls_skip_verify;
  probe.method = check.method;
  probe.path = check.path;
  probe.body = check.body;
  probe.headers = check.headers;
  probe.grpc_service = check.grpc_service;
  return probe;
}

client_api::CheckReport report_of(const ServiceCheck& check, const workload::CheckResult& result) {
  return {.id = check.id,
          .check = check.name,
          .group = check.group,
          .task = check.task,
          .service = check.service,
          .mode = check.is_readiness ? "readiness" : "healthiness",
          .status = std::string{to_string(result.status)},
          .status_code = result.status_code,
          .output = result.output,
          .timestamp = result.timestamp};
}

class CheckRunnerState {
public:
  static constexpr const char* name = "check_runner";

  explicit CheckRunnerState(CheckSelf::pointer self) : self_{self} {}

  void init(const CheckRunnerOptions& options);
  check::Watching watch(check::Watch msg);
  void started(const check::Started& msg);
  void forget(const std::string& alloc_id);
  client_api::CheckReports reports_of(const std::string& alloc_id) const;
  void run_due(std::uint64_t round);
  void ended(CheckSchedule::Key key, workload::CheckOutcome outcome);

private:
  using Key = CheckSchedule::Key;

  struct Watched {
    std::string alloc_id;
    ServiceCheck check;
    workload::CheckResult result;
    workload::CheckRestart restart;
    Nanoseconds begun{0};  ///< Its run that is under way, or the last.
    actor::Newest<CheckListener, check::Changed> news{};
  };

  struct Alloc {
    CheckListener listener;
    std::vector<Key> checks;  ///< In the job's order.
    /// When each task, or "" for the group, started last: told as Unix time, and heard.
    std::map<std::string, std::pair<std::int64_t, Nanoseconds>, std::less<>> starts{};
  };

  Nanoseconds now() const { return self_->now().time_since_epoch(); }

  std::int64_t unix_seconds() const { return unix_now_() / 1'000'000'000; }

  Key add(const std::string& alloc_id, ServiceCheck check);
  void remove(Key key);
  void go_on();
  void run(Key key);
  void run_script(Key key, const Watched& watched);
  void restart(const Watched& failed, const CheckListener& listener);

  CheckSelf::pointer self_;
  Turns turns_ = actor::turns_of(self_);
  std::function<std::int64_t()> unix_now_;
  std::optional<CheckSchedule> schedule_;
  std::unordered_map<std::string, Alloc> allocs_;
  std::unordered_map<Key, Watched> checks_;
  Key last_key_ = 0;
  std::uint64_t round_ = 0;
  std::optional<Nanoseconds> timer_;  ///< When the latest ChecksDue comes.
  std::function<std::unique_ptr<probe::Prober>()> make_prober_;
  std::unique_ptr<probe::Prober> prober_;  ///< From the first run on.
};

void CheckRunnerState::init(const CheckRunnerOptions& options) {
  Random random{self_->seed(options.seed)};
  unix_now_ = options.unix_now;
  schedule_.emplace(options.limits, random.next());
  last_key_ = random.next();  // what an earlier life's prober tells is of none of this one's
  make_prober_ = options.make_prober;
}

// -- who is watched ------------------------------------------------------------------------------

CheckRunnerState::Key CheckRunnerState::add(const std::string& alloc_id, ServiceCheck check) {
  const auto key = ++last_key_;
  schedule_->add(key, alloc_id, check.interval, now());
  workload::CheckRestart restart{check.restart, check.interval};
  const auto& starts = allocs_.at(alloc_id).starts;
  if (const auto start = starts.find(check.restarts_task); start != starts.end())
    restart.started(start->second.second);
  checks_.emplace(key, Watched{.alloc_id = alloc_id,
                               .check = std::move(check),
                               .result = workload::pending_result(unix_seconds()),
                               .restart = restart});
  return key;
}

void CheckRunnerState::remove(Key key) {
  if (prober_) prober_->cancel(key);
  schedule_->remove(key);
  checks_.erase(key);
}

check::Watching CheckRunnerState::watch(check::Watch msg) {
  auto& alloc = allocs_[msg.alloc_id];
  alloc.listener = std::move(msg.listener);
  std::map<std::string, Key, std::less<>> known;
  for (const auto key : std::exchange(alloc.checks, {}))
    known.emplace(checks_.at(key).check.id, key);
  check::Watching watching;
  for (auto& check : msg.checks) {
    const auto found = known.find(check.id);
    // Where it goes may have changed with what the node says; then it is another one.
    const bool goes_on = found != known.end() && checks_.at(found->second).check == check;
    const auto key = goes_on ? found->second : add(msg.alloc_id, std::move(check));
    if (goes_on) known.erase(found);
    alloc.checks.push_back(key);
    const auto& watched = checks_.at(key);
    watching.checks.push_back({watched.check.id, watched.result});
  }
  for (const auto& [id, key] : known)
    remove(key);
  if (alloc.checks.empty()) allocs_.erase(msg.alloc_id);
  go_on();
  return watching;
}

void CheckRunnerState::started(const check::Started& msg) {
  const auto alloc = allocs_.find(msg.alloc_id);
  if (alloc == allocs_.end()) return;
  auto& start = alloc->second.starts[msg.task];
  if (msg.at != 0 && start.first == msg.at) return;
  start = {msg.at, now()};
  for (const auto key : alloc->second.checks) {
    auto& watched = checks_.at(key);
    if (watched.check.restarts_task == msg.task) watched.restart.started(now());
  }
}

void CheckRunnerState::forget(const std::string& alloc_id) {
  const auto forgotten = allocs_.extract(alloc_id);
  if (forgotten.empty()) return;
  for (const auto key : forgotten.mapped().checks)
    remove(key);
  go_on();
}

client_api::CheckReports CheckRunnerState::reports_of(const std::string& alloc_id) const {
  client_api::CheckReports reports;
  const auto found = allocs_.find(alloc_id);
  if (found == allocs_.end()) return reports;
  for (const auto key : found->second.checks) {
    const auto& watched = checks_.at(key);
    reports.checks.push_back(report_of(watched.check, watched.result));
  }
  return reports;
}

// -- what is run ---------------------------------------------------------------------------------

/// Begins what is due, and wakes up for what is next.
void CheckRunnerState::go_on() {
  for (auto due = schedule_->begin_due(now()); !due.empty(); due = schedule_->begin_due(now()))
    for (const auto key : due)
      run(key);
  const auto next = schedule_->next();
  if (!next || (timer_ && *timer_ <= *next)) return;
  timer_ = next;
  actor::send_self_after(self_, std::max(*next - now(), Nanoseconds{0}), ChecksDue{++round_});
}

void CheckRunnerState::run_due(std::uint64_t round) {
  if (round != round_) return;
  timer_.reset();
  go_on();
}

void CheckRunnerState::run(Key key) {
  auto& watched = checks_.at(key);
  watched.begun = now();
  const auto& check = watched.check;
  if (!check.impossible.empty())
    turns_.post([this, key, why = check.impossible] { ended(key, {.output = "nomad: " + why}); });
  else if (check.kind == CheckKind::script)
    run_script(key, watched);
  else {
    if (!prober_) prober_ = make_prober_();
    prober_->start(key, probe_of(check), turns_.callback([this, key](probe::Outcome outcome) {
      ended(key, {.passed = outcome.passed,
                  .status_code = outcome.status_code,
                  .output = std::move(outcome.output)});
    }));
  }
}

void CheckRunnerState::run_script(Key key, const Watched& watched) {
  const auto& check = watched.check;
  self_
      ->request(allocs_.at(watched.alloc_id).listener, check.timeout + script_patience,
                check::RunScript{.alloc_id = watched.alloc_id,
                                 .task = check.script_task,
                                 .command = check.command,
                                 .args = check.args,
                                 .timeout = check.timeout})
      .then(
          [this, key](check::ScriptEnded& script) {
            ended(key, {.passed = script.exit_code == 0,
                        .is_warning = script.exit_code == 1,
                        .status_code = script.exit_code,
                        .output = std::move(script.output)});
          },
          [this, key](const Error& err) { ended(key, {.output = "nomad: " + err.what}); });
}

// -- what comes of it ----------------------------------------------------------------------------

void CheckRunnerState::ended(Key key, workload::CheckOutcome outcome) {
  const auto found = checks_.find(key);
  if (found == checks_.end()) return;  // it was forgotten while it ran
  auto& watched = found->second;
  const auto before = std::exchange(watched.result, result_of(std::move(outcome), unix_seconds()));
  const auto& listener = allocs_.at(watched.alloc_id).listener;
  if (before.status != watched.result.status || before.is_warning != watched.result.is_warning)
    watched.news.tell(self_, listener,
                      check::Changed{watched.alloc_id, {watched.check.id, watched.result}});
  if (watched.restart.note(watched.result, watched.begun)) restart(watched, listener);
  schedule_->finished(key, now());
  go_on();
}

void CheckRunnerState::restart(const Watched& failed, const CheckListener& listener) {
  for (const auto key : allocs_.at(failed.alloc_id).checks) {
    auto& each = checks_.at(key);
    if (each.check.restarts_task == failed.check.restarts_task) each.restart.start_over();
  }
  self_->send(listener,
              check::RestartWanted{.alloc_id = failed.alloc_id,
                                   .task = failed.check.restarts_task,
                                   .reason = fmt::format("healthcheck: check {} unhealthy",
                                                         quote(failed.check.name))});
}

CheckSelf::behavior_type check_runner(CheckSelf::stateful_pointer<CheckRunnerState> self,
                                      const CheckRunnerOptions& options) {
  self->state.init(options);
  return {
      [self](check::Watch& msg) { return self->state.watch(std::move(msg)); },
      [self](const check::Started& msg) { self->state.started(msg); },
      [self](const check::Forget& msg) { self->state.forget(msg.alloc_id); },
      [self](const check::ReportsOf& msg) { return self->state.reports_of(msg.alloc_id); },
      [self](ChecksDue msg) { self->state.run_due(msg.round); },
  };
}

}  // namespace

CheckRunner spawn_check_runner(const actor::Owner& owner, CheckRunnerOptions options) {
  return actor::spawn<actor::Policy::restart>(owner, check_runner, std::move(options));
}

}  // namespace nomad::client
