// IdentityMachine: decides when the identities of one task are asked for, when their files are
// written, when the task may start with them, and when it is told of newer ones. What happened goes
// in as calls; what to do about it comes out of `take`. No I/O, no clock, no thread, no actor, and
// no token: identities are places in the list of the task's.
//
// (1) One question and one writing of files at a time.
// (2) A start is answered once: when every identity is there, has not ended, and is written; with
// an
//     error if one of these is refused or can't be written; or as cancelled. Until then nothing of
//     an identity is exposed. A renewal that is due or under way holds no start up.
//     A task that was found running is answered after a second at the latest, or when nobody signs,
//     and never with an error: what it lacks is tried again later.
// (3) One that ends is asked for anew after half of its life and up to a tenth more, by chance, so
//     that those of a node do not come together; after a failure again and again, up to its end and
//     beyond. The task is told of it then: also one that has an earlier agent's in its environment.
// (4) Times are of a steady clock. How far the wall clock is ahead of it is noted with each that
//     comes: who verifies goes by the wall clock, so one that ends is asked for anew once that has
//     changed by more than a minute, or a tenth of its life. Of what an earlier agent has left, an
//     age that can't be is as a life that is over.
// (5) Once the end is answered nothing is asked and written any more.
// (6) A file that can't be written is tried again by itself; nothing of the others waits for it.
//
//   idle ─start─▶ asking ─is_signed─▶ writing ─written─▶ held ─look, when due─▶ asking
//                    └─not_signed, refused of a renewal─▶ waiting ─look─▶ asking
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/base/duration.hpp"
#include "runtime/base/random.hpp"
#include "runtime/base/result.hpp"

namespace nomad::workload {

/// What is known of an identity before it is there.
struct IdentityTerms {
  bool has_file = false;      ///< What an earlier agent wrote may stay,
  bool has_variable = false;  ///< but nobody knows any more what is in the environment.
  bool acts = false;          ///< The running task is told of a newer one.
};

/// What an earlier agent has left of one: how long it was to last (0: it has no end of its own),
/// how long it has been there by now, and how far the wall clock was ahead of the steady one then.
struct LeftIdentity {
  Nanoseconds life{};
  Nanoseconds age{};
  std::optional<Nanoseconds> ahead{};  ///< None: not known.
};

namespace identity_action {

/// Have these signed. Answer: `is_signed`, `refused` or `not_signed`.
struct Ask {
  std::vector<std::size_t> which;
};

/// Write the files of these that have one, each whatever becomes of the others, and note when they
/// came. Answer: `written`.
struct Write {
  std::vector<std::size_t> which;
};

/// Tell users that this one's file can't be written, time and again. Once until it can.
struct Complain {
  std::size_t which;
  Error why;
};

/// Tell the task that these are newer.
struct Act {
  std::vector<std::size_t> which;
};

/// Answer: `look`, after `delay`. It replaces the last one.
struct Wait {
  std::uint64_t round;
  Nanoseconds delay;
};

/// The task may start, or not.
struct AnswerStart {
  Result<> outcome;
};

struct AnswerCancel {};

struct AnswerStop {};

}  // namespace identity_action

using IdentityAction = std::variant<identity_action::Ask,
                                    identity_action::Write,
                                    identity_action::Complain,
                                    identity_action::Act,
                                    identity_action::Wait,
                                    identity_action::AnswerStart,
                                    identity_action::AnswerCancel,
                                    identity_action::AnswerStop>;

class IdentityMachine {
public:
  using Time = Nanoseconds;  ///< Of a steady clock.
  using Left = std::map<std::size_t, LeftIdentity>;
  /// By place: how long each lasts; 0: as long as the task's allocation.
  using Lives = std::map<std::size_t, Nanoseconds>;
  /// Those of the last Write that are not written.
  using Unwritten = std::map<std::size_t, Error>;

  IdentityMachine(std::vector<IdentityTerms> terms, Random random);

  /// What to do since the last call, in this order. To be called after every event.
  std::vector<IdentityAction> take() { return std::exchange(actions_, {}); }

  // What happens to the task.

  /// It is about to start, or was found running, with what was left of its identities.
  void start(bool is_running, const Left& left, Time now);

  void started(Time now);

  void exited() { runs_ = false; }

  /// It starts nothing any more.
  void cancel();
  void stop();

  // What happens to the identities.

  /// These are there now.
  void is_signed(const Lives& lives, Time now);

  /// The servers will not sign one of those that were asked for.
  void refused(const Error& why, Time now);

  /// Nobody has answered.
  void not_signed(Time now);

  void written(const Unwritten& failed, Time now);

  /// How far the wall clock is ahead of the steady one: now and then, and before each `start` and
  /// `is_signed`.
  void clock_is(Nanoseconds ahead, Time now);

  /// Only what the newest Wait has asked for counts.
  void look(std::uint64_t round, Time now);

private:
  struct Held {
    bool has_token = false;
    bool is_left = false;     ///< The running task has the file of an earlier agent.
    bool is_behind = false;   ///< The running task has that of an earlier agent until `due`.
    bool is_new = false;      ///< Signed since the start, as is
    bool is_written = false;  ///< what is written since then.
    Nanoseconds life{};       ///< 0: it has no end, or there is none yet.
    std::optional<Time> ends{};
    std::optional<Time> due{};           ///< To be asked for anew.
    std::optional<Nanoseconds> ahead{};  ///< The wall clock of the steady one, when it came.
    std::optional<Time> write_at{};      ///< To be written again.
    unsigned unwritten = 0;              ///< So many times in a row.
  };

  static bool is_missing(const Held& one, Time now) {
    return (!one.has_token && !one.is_left) || (one.ends && *one.ends <= now && !one.is_new);
  }

  /// Whether a task waits for all, and starts with nothing less.
  bool must_start() const { return is_starting_ && !start_by_; }

  void go_on(Time now);
  void act_on_newer();
  void wait_for_next(Time now, bool is_wanting);
  void wait_until(Time when, Time now);
  void answer_start(Result<> outcome);
  void end();
  void try_later(Time now);
  std::vector<std::size_t> missing(Time now) const;
  std::vector<std::size_t> wanted(Time now) const;
  std::vector<std::size_t> unwritten(Time now) const;
  bool renew_moved(Time now);
  Time after_failures(unsigned count, Time now);
  Nanoseconds longest_pause() const;
  std::optional<Time> due_of(const LeftIdentity& left, Time now);

  const std::vector<IdentityTerms> terms_;
  Random random_;
  std::vector<Held> held_;
  std::vector<std::size_t> writing_;  ///< What is being written since the last start.
  std::set<std::size_t> newer_;       ///< Signed anew, and not told of yet.
  std::vector<IdentityAction> actions_;
  Nanoseconds ahead_{};             ///< As `clock_is` has said last.
  std::optional<Time> retry_at_{};  ///< To ask again.
  std::optional<Time> start_by_{};  ///< Of a task that was found running.
  unsigned failures_ = 0;
  std::uint64_t round_ = 0;
  bool is_asking_ = false;
  bool is_writing_ = false;
  bool is_starting_ = false;
  bool runs_ = false;
  bool is_stopped_ = true;
};

}  // namespace nomad::workload
