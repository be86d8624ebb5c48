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

/// So many failures in a row are worth a word to users.
constexpr unsigned failures_told = 3;

/// By so much the wall clock may be corrected before an identity is asked for anew: what verifiers
/// make allowance for, and no more than this part of its life.
constexpr Nanoseconds most_moved = 1min;
constexpr int moves_in_a_life = 10;

/// Whether who verifies may take the identity for one that has ended, or is yet to come.
bool has_moved(Nanoseconds ahead, Nanoseconds since, Nanoseconds life) {
  const auto allowed = std::min(most_moved, life / moves_in_a_life);
  return ahead > since ? since < ahead - allowed : ahead < since - allowed;
}

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
    one.write_at.reset();
    const auto found = left.find(i);
    const bool is_noted = is_running && !one.has_token && found != left.end();
    one.is_left = is_noted && terms.has_file && !terms.has_variable;
    one.is_behind = is_noted && terms.has_variable && terms.acts;
    if (is_noted) one.life = found->second.life;
    if (one.is_left || one.is_behind) one.due = due_of(found->second, now);
    if (one.is_left || one.is_behind) one.ahead = found->second.ahead.value_or(ahead_);
  }
  renew_moved(now);
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
    const auto failures = one.unwritten;
    one = {.has_token = true, .is_new = true, .ends = end_of(life, now), .due = due};
    one.life = life;
    one.ahead = ahead_;
    one.unwritten = failures;
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

void IdentityMachine::written(const Unwritten& failed, Time now) {
  is_writing_ = false;
  for (const auto position : std::exchange(writing_, {})) {
    auto& one = held_[position];
    const auto failure = failed.find(position);
    if (failure == failed.end()) {
      one.is_written = true;
      one.unwritten = 0;
      continue;
    }
    one.write_at = after_failures(one.unwritten, now);
    if (++one.unwritten == failures_told)
      actions_.emplace_back(identity_action::Complain{position, failure->second});
    if (!must_start()) continue;
    answer_start(failure->second);
    is_stopped_ = true;
  }
  go_on(now);
}

void IdentityMachine::clock_is(Nanoseconds ahead, Time now) {
  ahead_ = ahead;
  if (renew_moved(now)) go_on(now);
}

/// Whether there is any. Once is enough: the next one comes with its own.
bool IdentityMachine::renew_moved(Time now) {
  bool is_any = false;
  for (auto& one : held_) {
    if (!one.ahead || one.life <= 0ns || !has_moved(ahead_, *one.ahead, one.life)) continue;
    one.ahead.reset();
    one.due = now;
    is_any = true;
  }
  return is_any;
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
  const auto files = unwritten(now);
  if (!files.empty() && (!is_starting_ || asked.empty())) {
    is_writing_ = true;
    writing_ = files;
    actions_.emplace_back(identity_action::Write{files});
    return;
  }
  if (is_starting_ && asked.empty() && files.empty()) answer_start({});
  if (is_asking_) return;
  if (!is_starting_) act_on_newer();
  wait_for_next(now, !asked.empty());
}

/// Of what is written. A task that does not run yet is told when it does.
void IdentityMachine::act_on_newer() {
  if (!runs_) return;
  std::vector<std::size_t> which;
  for (auto at = newer_.begin(); at != newer_.end();) {
    if (!held_[*at].is_written) {
      ++at;
      continue;
    }
    if (terms_[*at].acts) which.push_back(*at);
    at = newer_.erase(at);
  }
  if (!which.empty()) actions_.emplace_back(identity_action::Act{std::move(which)});
}

void IdentityMachine::wait_for_next(Time now, bool is_wanting) {
  std::optional<Time> next;
  if (is_wanting) next = retry_at_;
  for (const auto& one : held_) {
    const auto also = [&next](std::optional<Time> when) {
      if (when && (!next || *when < *next)) next = when;
    };
    if (!is_wanting) also(one.due);
    if (one.has_token && !one.is_written) also(one.write_at);
  }
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
  retry_at_ = after_failures(failures_++, now);
  go_on(now);
}

IdentityMachine::Time IdentityMachine::after_failures(unsigned count, Time now) {
  const auto wait = std::min(least_wait * (1U << std::min(count, most_doublings)), longest_pause());
  const auto half = static_cast<std::uint64_t>(wait.count() / 2);
  return now + wait / 2 + Nanoseconds{static_cast<std::int64_t>(random_.below(half))};
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

std::vector<std::size_t> IdentityMachine::unwritten(Time now) const {
  std::vector<std::size_t> which;
  for (std::size_t i = 0; i < held_.size(); ++i) {
    const auto& one = held_[i];
    if (one.has_token && !one.is_written && (!one.write_at || *one.write_at <= now))
      which.push_back(i);
  }
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
