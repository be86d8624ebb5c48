// VolumeMachine: decides about the CSI volumes of a node's allocations: when they are claimed,
// staged, published, taken down and given back, and what is written down before. What happened goes
// in as calls; what to do about it comes out of `take`. No I/O, no clock, no thread, no actor, and
// no secret: what servers say of a volume stays with who performs the actions.
//
// (1) What a step may leave behind is written down before the step begins, and forgotten when
//     nothing of it is left: so whoever reads the rows after a crash knows all that may be mounted.
// (2) A volume is staged once for all allocations that use it in one way, and unstaged when none
//     does any more. Of the steps of one staging one runs at a time.
// (3) A claim is given back when nothing of it is mounted here for its allocation, and not before.
//     Where that fails, servers are told that it is out of use, and it is tried again, later each
//     time, up to a minute apart, until it works.
// (4) What is published is left alone until its allocation drops it, also by a machine that has
//     only read the rows: it looks, and asks the plugin for nothing that is there.
// (5) Each ticket is answered once. A drop is answered after its first attempt.
//
//   claiming ─▶ (plugin) ─▶ looking ─▶ staging ─▶ publishing ─▶ mounted
//                  any of them ─drop, cancel, refusal─▶ looking ─▶ unpublishing ─▶ unstaging ─▶
//                  releasing
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/base/duration.hpp"
#include "runtime/base/result.hpp"
#include "runtime/workload/volumes/volume_row.hpp"

namespace nomad::workload {

namespace volume_action {

/// What is answered names the operation: an answer to an earlier one is passed over.
using Operation = std::uint64_t;

/// Write the row down. Answer: `saved`.
struct Save {
  VolumeRow row;
  Operation operation;
};

/// Nothing is left of it.
struct Erase {
  std::string key;
};

/// Ask the servers for it. Answer: `claimed` or `not_claimed`.
struct Claim {
  VolumeRow row;
  Operation operation;
};

/// See whether something is mounted where it is published and staged. Answer: `looked`.
struct Look {
  VolumeRow row;
  Operation operation;
};

enum class Step : std::uint8_t { stage, publish, unpublish, unstage };

/// Have the plugin do it. Answer: `done`.
struct Do {
  Step step;
  VolumeRow row;
  Operation operation;
};

/// Tell the servers that its allocation does not use it; `detached`: nothing of it is mounted here.
/// Answer: `released`; none is awaited of one that is not `detached`.
struct Release {
  VolumeRow row;
  bool detached;
  Operation operation;
};

/// What was asked for is not wanted any more; it is answered all the same.
struct Cancel {
  Operation operation;
};

struct Answer {
  std::uint64_t ticket;
  Result<> outcome;
};

/// For the node's events: it was mounted or unmounted, or could not be.
struct Tell {
  VolumeRow row;
  bool mounts;
  Result<> outcome;
};

/// Call `look` then. It replaces the last one.
struct Wait {
  Nanoseconds until;
};

}  // namespace volume_action

using VolumeAction = std::variant<volume_action::Save,
                                  volume_action::Erase,
                                  volume_action::Claim,
                                  volume_action::Look,
                                  volume_action::Do,
                                  volume_action::Release,
                                  volume_action::Cancel,
                                  volume_action::Answer,
                                  volume_action::Tell,
                                  volume_action::Wait>;

class VolumeMachine {
public:
  using Time = Nanoseconds;  ///< Of a steady clock.
  using Operation = volume_action::Operation;
  using Ticket = std::uint64_t;

  /// Of a node plugin that is healthy.
  struct Plugin {
    std::string directory;  ///< Its directory on the host.
    bool stages = false;

    friend bool operator==(const Plugin&, const Plugin&) = default;
  };

  /// What servers say of a volume that was claimed.
  struct Claimed {
    std::string plugin;
    std::string external;
  };

  /// A refusal. `passes`: the same may do later.
  struct Refusal {
    Error why;
    bool passes = false;
  };

  struct Mounted {
    bool target = false;
    bool staging = false;
  };

  /// What to do since the last call, in this order. To be called after every event.
  std::vector<VolumeAction> take() { return std::exchange(actions_, {}); }

  // What an earlier agent has left; once, before anything else. Rows of allocations that are not
  // among `allocs` are taken down.
  void restore(std::vector<VolumeRow> rows, const std::set<std::string>& allocs, Time now);

  // What allocations and servers want.

  /// Answered when it is mounted. `conflict`: the allocation has it in another way.
  void acquire(const MountSpec& spec, Ticket ticket, Time now);

  /// An `acquire` is not wanted any more: it is answered, and what it has begun is taken down.
  void cancel(Ticket ticket, Time now);

  /// The allocation is over.
  void drop(const std::string& alloc, Ticket ticket, Time now);

  /// Servers want nothing of it to be left for the allocation, or, without one, for any that has
  /// dropped it. `conflict`: it is in use; `unavailable`: not yet.
  void detach(const std::string& ns,
              const std::string& volume,
              const std::string& alloc,
              Ticket ticket,
              Time now);

  /// The row of a volume that is mounted.
  const VolumeRow* find_mounted(const std::string& alloc, const std::string& volume) const;

  std::size_t size() const { return uses_.size(); }

  // What has come of actions.

  void saved(Operation operation, Time now);
  void claimed(Operation operation, const Claimed& what, Time now);
  void not_claimed(Operation operation, const Refusal& why, Time now);
  void looked(Operation operation, Mounted mounted, Time now);
  void done(Operation operation, const std::optional<Refusal>& refusal, Time now);
  void released(Operation operation, bool is_known, Time now);

  /// How a plugin stands: none, it is not healthy here.
  void plugin(const std::string& id, const std::optional<Plugin>& stands, Time now);

  void look(Time now);

private:
  enum class Doing : std::uint8_t {
    nothing,  ///< An earlier agent's: its allocation has not said yet whether it goes on.
    saving,
    claiming,
    awaiting_plugin,
    looking,
    awaiting_stage,
    staging,
    publishing,
    mounted,
    unpublishing,
    unstaging,
    releasing,
    pausing,
  };

  /// What comes next, after a row is saved or a pause is over.
  enum class Next : std::uint8_t { claim, look, stage, publish, take_down, release };

  struct Use {
    VolumeRow row;
    Doing doing = Doing::nothing;
    Next next = Next::claim;
    bool wanted = true;
    /// It is written down that it is touched: another use may leave to it what is staged.
    bool is_known_touched = false;
    bool was_unpublished = false;
    bool has_told = false;    ///< Servers know that it is out of use.
    bool is_claimed = false;  ///< By this agent: who performs knows what the plugin has to be told.
    unsigned tries = 0;       ///< Of what is being done, that have failed.
    Operation operation = 0;  ///< That is awaited.
    Time due{};               ///< Of a pause, or for the plugin.
    Time give_up{};           ///< Claiming.
    Mounted mounted{};        ///< As was seen last.
    std::uint64_t unstagings = 0;  ///< Of its staging, when it was last looked at.
    std::vector<Ticket> acquirers{}, droppers{}, detachers{};
  };

  struct Staging {
    bool is_busy = false;
    bool is_staged = false;
    std::uint64_t unstagings = 0;  ///< Begun and ended ones: what was seen before one is void.
  };

  /// A ticket that several uses have to answer.
  struct Open {
    std::size_t uses = 0;
    Result<> outcome{};
  };

  Use* of(Operation operation, Doing doing);
  std::string staging_of(const Use& use) const;
  bool is_user(const Use& use) const;
  void save(Use& use, Next next);
  void go_on(Use& use, Next next, Time now);
  void begin_claim(Use& use);
  void awaits_plugin(Use& use, Time now);
  void mount(Use& use, Time now);
  void begin_look(Use& use);
  void stage_or_publish(Use& use, Time now);
  void begin(Use& use, volume_action::Step step, Doing doing);
  void finished(Use& use);
  void refused(Use& use, Next again, const Refusal& why, Time now);
  void fail(Use& use, const Error& why, Time now);
  void unwant(Use& use, Time now);
  void begin_taking_down(Use& use);
  void take_down(Use& use, Time now);
  void unstage_or_release(Use& use, Time now);
  void not_down(Use& use, const Error& why, Time now);
  void begin_release(Use& use);
  void gone(Use& use, Time now);
  void stage_is_free(const std::string& staging, Time now);
  void pause(Use& use, Next next, Time now, Nanoseconds first, Nanoseconds most);
  void answer(std::vector<Ticket>& tickets, const Result<>& outcome);
  void await(std::vector<Ticket>& tickets, Ticket ticket);
  void answer_if_settled(Ticket ticket);
  void wait();

  Operation next_operation(Use& use) { return use.operation = ++last_operation_; }

  std::map<std::string, Use> uses_;  ///< By key.
  std::map<std::string, Staging> stagings_;
  std::map<std::string, Plugin> plugins_;
  std::map<Ticket, Open> open_;
  std::vector<VolumeAction> actions_;
  Operation last_operation_ = 0;
  std::optional<Time> waits_until_;
};

}  // namespace nomad::workload
