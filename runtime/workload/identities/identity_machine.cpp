#include "runtime/workload/identities/identity_machine.hpp"

#include <algorithm>

namespace nomad::workload {

namespace {

using namespace std::chrono_literals;

/// However short an identity lasts, it is not asked for more often than that.
constexpr Nanoseconds least_wait = 1s;

/// Between questions that nobody answers, and files that can't be written: twice as long each time,
/// up to that, and to this part of the shortest life. From half of a life on there are then some
/// ten tries before it ends.
constexpr Nanoseconds longest_retry = 30s;
constexpr unsigned most_doublings = 5;
constexpr int pauses_in_a_life = 16;

/// A task that was found running waits so long for what its hooks and templates may read.
constexpr Nanoseconds longest_taking_up = 1s;

/// None: not before the clock's end.
std::optional<Nanoseconds> end_of(Nanoseconds life, Nanoseconds now) {
  if (life <= 0ns || life > Nanoseconds::max() - now) return {};
  return now + life;
}

}  // namespace

IdentityMachine::IdentityMachine(std::vector<IdentityTerms> terms, Random random)
    : terms_{std::move(terms)}, random_{random}, held_(terms_.size()) {}

void IdentityMachine::start(bool is_running, const Left& left, Time now) {
  is_stopped_ = false;
  is_starting_ = true;
  runs_ = is_running;
  start_by_.reset();
  if (is_running) start_by_ = now + longest_taking_up;
  retry_at_.reset();
  writing_.clear();
  for (std::size_t i = 0; i < held_.size(); ++i) {
    auto& one = held_[i];
    const auto& terms = terms_[i];
    one.is_new = false;
    one.is_written = false;
    const auto found = left.find(i);
    const bool is_noted = is_running && !one.has_token && found != left.end();
    one.is_left = is_noted && terms.has_file && !terms.has_variable;
    one.is_behind = is_noted && terms.has_variable && terms.acts;
    if (is_noted) one.life = found->second.life;
    if (one.is_left || one.is_behind) one.due = due_of(found->second, now);
  }
  go_on(now);
}

void IdentityMachine::started(Time now) {
  runs_ = true;
  if (!newer_.empty()) go_on(now);
}

void IdentityMachine::cancel() {
  end();
  actions_.emplace_back(identity_action::AnswerCancel{});
}

void IdentityMachine::stop() {
  end();
  actions_.emplace_back(identity_action::AnswerStop{});
}

void IdentityMachine::end() {
  if (is_starting_) answer_start(Error{Errc::cancelled, "cancelled"});
  is_stopped_ = true;
}

void IdentityMachine::is_signed(const Lives& lives, Time now) {
  is_asking_ = false;
  failures_ = 0;
  retry_at_.reset();
  for (const auto& [position, life] : lives) {
    auto& one = held_[position];
    auto due = due_of({.life = life}, now);
    const auto told_at = one.is_behind ? one.due : std::optional<Time>{};
    const bool is_told_later = told_at && *told_at > now;
    if (is_told_later) due = due ? std::min(*due, *told_at) : *told_at;
    if (one.has_token || one.is_left || (told_at && !is_told_later)) newer_.insert(position);
    one = {.has_token = true, .is_new = true, .ends = end_of(life, now), .due = due};
    one.life = life;
    writing_.erase(std::remove(writing_.begin(), writing_.end(), position), writing_.end());
  }
  go_on(now);
}

void IdentityMachine::refused(const Error& why, Time now) {
  is_asking_ = false;
  if (must_start() && !missing(now).empty()) {
    answer_start(why);
    is_stopped_ = true;
  }
  try_later(now);
}

void IdentityMachine::not_signed(Time now) {
  is_asking_ = false;
  try_later(now);
}

void IdentityMachine::written(const Result<>& outcome, Time now) {
  is_writing_ = false;
  const auto which = std::exchange(writing_, {});
  if (!outcome) {
    if (must_start() && !which.empty()) {
      answer_start(outcome.error());
      is_stopped_ = true;
    }
    return try_later(now);
  }
  for (const auto position : which)
    held_[position].is_written = true;
  go_on(now);
}

void IdentityMachine::look(std::uint64_t round, Time now) {
  if (round == round_) go_on(now);
}

/// The next thing that there is to do. A start does not wait for a renewal that is under way.
void IdentityMachine::go_on(Time now) {
  if (is_stopped_) return;
  if (is_starting_ && start_by_ && (*start_by_ <= now || failures_ > 0 || missing(now).empty()))
    answer_start({});
  if (is_writing_ || (is_asking_ && !is_starting_)) return;
  const auto asked = is_starting_ ? missing(now) : wanted(now);
  const bool may_try = !retry_at_ || *retry_at_ <= now;
  if (!asked.empty() && may_try && !is_asking_) {
    is_asking_ = true;
    actions_.emplace_back(identity_action::Ask{asked});
    if (is_starting_ && start_by_) wait_until(*start_by_, now);
    return;
  }
  const auto files = unwritten();
  if (!files.empty() && (is_starting_ ? asked.empty() : may_try)) {
    is_writing_ = true;
    writing_ = files;
    actions_.emplace_back(identity_action::Write{files});
    return;
  }
  if (is_starting_ && asked.empty() && files.empty()) answer_start({});
  if (is_asking_) return;
  if (!is_starting_ && files.empty()) act_on_newer();
  wait_for_next(now, !asked.empty() || !files.empty());
}

/// A task that does not run yet is told when it does.
void IdentityMachine::act_on_newer() {
  if (!runs_) return;
  std::vector<std::size_t> which;
  for (const auto position : std::exchange(newer_, {}))
    if (terms_[position].acts) which.push_back(position);
  if (!which.empty()) actions_.emplace_back(identity_action::Act{std::move(which)});
}

void IdentityMachine::wait_for_next(Time now, bool is_wanting) {
  std::optional<Time> next;
  if (is_wanting) next = retry_at_;
  for (const auto& one : held_)
    if (!is_wanting && one.due && (!next || *one.due < *next)) next = one.due;
  if (next) wait_until(*next, now);
}

void IdentityMachine::wait_until(Time when, Time now) {
  actions_.emplace_back(identity_action::Wait{++round_, std::max(when - now, Nanoseconds{1})});
}

void IdentityMachine::answer_start(Result<> outcome) {
  is_starting_ = false;
  if (!start_by_) newer_.clear();  // It starts with them.
  actions_.emplace_back(identity_action::AnswerStart{std::move(outcome)});
}

void IdentityMachine::try_later(Time now) {
  const auto wait
      = std::min(least_wait * (1U << std::min(failures_++, most_doublings)), longest_pause());
  const auto half = static_cast<std::uint64_t>(wait.count() / 2);
  retry_at_ = now + wait / 2 + Nanoseconds{static_cast<std::int64_t>(random_.below(half))};
  go_on(now);
}

Nanoseconds IdentityMachine::longest_pause() const {
  auto longest = longest_retry;
  for (const auto& one : held_)
    if (one.life > 0ns) longest = std::min(longest, one.life / pauses_in_a_life);
  return std::max(longest, least_wait);
}

/// Without these no task starts.
std::vector<std::size_t> IdentityMachine::missing(Time now) const {
  std::vector<std::size_t> which;
  for (std::size_t i = 0; i < held_.size(); ++i)
    if (is_missing(held_[i], now)) which.push_back(i);
  return which;
}

std::vector<std::size_t> IdentityMachine::wanted(Time now) const {
  std::vector<std::size_t> which;
  for (std::size_t i = 0; i < held_.size(); ++i) {
    const auto& one = held_[i];
    if (is_missing(one, now) || (one.due && *one.due <= now)) which.push_back(i);
  }
  return which;
}

std::vector<std::size_t> IdentityMachine::unwritten() const {
  std::vector<std::size_t> which;
  for (std::size_t i = 0; i < held_.size(); ++i)
    if (held_[i].has_token && !held_[i].is_written) which.push_back(i);
  return which;
}

/// An age that can't be, of a clock that has jumped, makes it due now.
std::optional<IdentityMachine::Time> IdentityMachine::due_of(const LeftIdentity& left, Time now) {
  if (left.life <= 0ns) return {};
  if (left.age < 0ns || left.age >= left.life) return now;
  const auto tenth = static_cast<std::uint64_t>(left.life.count() / 10);
  const auto after
      = left.life / 2 + Nanoseconds{static_cast<std::int64_t>(random_.below(tenth))} - left.age;
  return now + std::max(after, left.age == 0ns ? least_wait : 0ns);
}

}  // namespace nomad::workload
