// KeyringMachine: decides what a server does next for the cluster's keyring, and when what failed
// is tried again. What happened goes in as calls; what to do comes out of `take`. No I/O, no clock,
// no randomness, no actor, and no key: root keys are ids, and what is known of them are facts that
// the caller finds out.
//
// (1) First the state is told this server's keys, by which others wrap for it. Nothing else is done
//     before.
// (2) No look while a write has no answer: the next thing to do may depend on it. Once all have one
//     the next look follows at once, if the last write went well; else at the next tick.
// (3) Who does not lead shares what he can open with those who lack it, at every third tick: mostly
//     the leader was there first. All else is the leader's.
// (4) A wrapping key that is asked, or has failed, holds up nothing but its own root key's wrap. It
//     is tried again after 1 s, and less and less often, up to once a minute. A new leader begins
//     anew.
// (5) What the duties say (seal anew, activate, retire, remove) is done when a look has left
//     nothing to write for those who lack wraps.
//
//   tick, lead, written ─▶ Look ─look─▶ Register | MakeKey, Wrap…, Share ─shared─▶ DoDuties
//                            ▲            │          │        │                      │
//                            └──written───┴──made────┴wrapped─┴──────────────────────┘
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/base/duration.hpp"

namespace nomad::keyring {

/// Of a root key's row.
struct KeyFacts {
  std::string id;
  bool is_open = false;      ///< This server has the key.
  bool lacks_key = false;    ///< This server's wrapping key has not wrapped it.
  bool lacks_wraps = false;  ///< `plan_wraps` has others, without asking a wrapping key.
};

struct KeyringFacts {
  bool is_known = false;        ///< The state has this server's row as it is.
  bool may_register = false;    ///< No wrapping key is being tried: the row would change again.
  bool needs_key = false;       ///< No active one may ever open here, or it is too old.
  bool needs_next_key = false;  ///< It is soon too old, and no other is published.
  std::vector<KeyFacts> keys = {};
};

namespace keyring_action {

/// Find out the facts. Answer: `look`.
struct Look {};

/// Write this server's row.
struct Register {};

/// Make a root key; one that is published is active later. Answer: `made`.
struct MakeKey {
  bool is_published = false;
};

/// Have this server's wrapping key wrap it. Answer: `wrapped`.
struct Wrap {
  std::string key_id = {};
};

/// Write these with the wraps that they lack. Answer: `shared`, once that has begun.
struct Share {
  std::vector<std::string> key_ids = {};
};

/// Seal anew, activate, retire and remove.
struct DoDuties {};

}  // namespace keyring_action

using KeyringAction = std::variant<keyring_action::Look,
                                   keyring_action::Register,
                                   keyring_action::MakeKey,
                                   keyring_action::Wrap,
                                   keyring_action::Share,
                                   keyring_action::DoDuties>;

class KeyringMachine {
public:
  using Time = Nanoseconds;  ///< Of a steady clock.

  static constexpr Nanoseconds first_pause{1'000'000'000};
  static constexpr Nanoseconds longest_pause{60'000'000'000};

  /// What a write is of, for what follows from its refusal.
  struct Subject {
    bool is_new_key = false;
    std::string wrapped_key = {};  ///< Its id, if a wrapping key has made the change.
  };

  /// What to do since the last call, in this order. To be called after every event.
  std::vector<KeyringAction> take() { return std::exchange(actions_, {}); }

  /// Time has passed: about a second.
  void tick();

  void lead(bool leads);

  bool leads() const { return leads_; }

  void look(const KeyringFacts& facts, Time now);

  void shared();

  /// A write has begun.
  void writing() { ++writing_; }

  void written(bool is_done, const Subject& of, Time now);

  /// The new key is there and to be written, or could not be made.
  void made(bool is_made, Time now);

  /// It is wrapped and to be written (or needs nothing any more), or could not be.
  void wrapped(const std::string& key_id, bool is_wrapped, Time now);

private:
  /// Of what asks a wrapping key.
  struct Pace {
    bool is_due(Time now) const { return !is_under_way && now >= next; }

    void fail(Time now);

    bool is_under_way = false;
    Nanoseconds pause = first_pause / 2;
    Time next = Time::min();
  };

  void make_keys(const KeyringFacts& facts, Time now);
  void share_keys(const KeyringFacts& facts, Time now);

  std::vector<KeyringAction> actions_;
  Pace making_;
  std::map<std::string, Pace> wrapping_;  ///< By root keys that lack this server's wrapping key.
  unsigned writing_ = 0;
  unsigned ticks_as_follower_ = 0;
  bool leads_ = false;
};

}  // namespace nomad::keyring
