#include "test/simulation/linearizability.hpp"

#include <algorithm>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

namespace nomad::test {
namespace {

using Kind = RegisterOperation::Kind;

/// The value after `operation`, or nothing if a register could not have answered so.
std::optional<std::uint64_t> after(const RegisterOperation& operation, std::uint64_t value) {
  const bool is_answered = operation.answered != RegisterOperation::unknown;
  switch (operation.kind) {
    case Kind::read:
      if (is_answered && operation.seen != value) return std::nullopt;
      return value;
    case Kind::write:
      return operation.value;
    case Kind::compare_and_set: {
      const bool fits = value == operation.expected;
      if (is_answered && operation.succeeded != fits) return std::nullopt;
      if (is_answered && !fits && operation.seen != value) return std::nullopt;
      return fits ? operation.value : value;
    }
  }
  return std::nullopt;
}

/// Operations that nobody was answered about count only if somebody saw what they wrote.
std::vector<RegisterOperation> relevant(const std::vector<RegisterOperation>& history) {
  std::set<std::uint64_t> seen;
  for (const auto& operation : history) {
    if (operation.kind != Kind::write) seen.insert(operation.seen);
    if (operation.kind == Kind::compare_and_set) seen.insert(operation.expected);
  }
  std::vector<RegisterOperation> kept;
  for (const auto& operation : history) {
    const bool open = operation.answered == RegisterOperation::unknown;
    if (open && (operation.kind == Kind::read || !seen.contains(operation.value))) continue;
    kept.push_back(operation);
  }
  return kept;
}

/// Calls and answers in the order of time, as a list from which an operation can be lifted out and
/// put back in its place.
class Timeline {
public:
  struct Entry {
    std::size_t operation = 0;
    bool is_call = false;
    std::size_t partner = 0;  ///< Of a call: where its answer is.
    std::size_t before = 0;
    std::size_t next = 0;
  };

  explicit Timeline(const std::vector<RegisterOperation>& operations) {
    struct Moment {
      std::int64_t at;
      bool is_call;
      std::size_t operation;
    };

    std::vector<Moment> moments;
    for (std::size_t at = 0; at < operations.size(); ++at) {
      moments.push_back({operations[at].called, true, at});
      moments.push_back({operations[at].answered, false, at});
    }
    // Of one moment the calls come first: the operations overlap.
    std::ranges::stable_sort(moments, {}, [](const Moment& moment) {
      return std::pair{moment.at, !moment.is_call};
    });
    entries_.resize(moments.size() + 2);  // a head in front and an end behind
    std::vector<std::size_t> call_of(operations.size());
    for (std::size_t at = 0; at < moments.size(); ++at) {
      auto& entry = entries_[at + 1];
      entry = {.operation = moments[at].operation, .is_call = moments[at].is_call};
      if (entry.is_call)
        call_of[entry.operation] = at + 1;
      else
        entries_[call_of[entry.operation]].partner = at + 1;
    }
    for (std::size_t at = 0; at < entries_.size(); ++at) {
      entries_[at].before = at == 0 ? 0 : at - 1;
      entries_[at].next = std::min(at + 1, entries_.size() - 1);
    }
  }

  std::size_t first() const { return entries_.front().next; }

  std::size_t end() const { return entries_.size() - 1; }

  const Entry& at(std::size_t position) const { return entries_[position]; }

  void lift(std::size_t call) {
    unlink(call);
    unlink(entries_[call].partner);
  }

  void put_back(std::size_t call) {
    link(entries_[call].partner);
    link(call);
  }

private:
  void unlink(std::size_t position) {
    auto& entry = entries_[position];
    entries_[entry.before].next = entry.next;
    entries_[entry.next].before = entry.before;
  }

  void link(std::size_t position) {
    auto& entry = entries_[position];
    entries_[entry.before].next = position;
    entries_[entry.next].before = position;
  }

  std::vector<Entry> entries_;
};

/// Which operations are placed already, and the value then: seen before, it led nowhere.
class Memory {
public:
  explicit Memory(std::size_t operations) : placed_((operations + 63) / 64, 0) {}

  void flip(std::size_t operation) {
    placed_[operation / 64] ^= std::uint64_t{1} << (operation % 64);
  }

  /// Whether this is new.
  bool remember(std::uint64_t value) {
    std::uint64_t hash = value * 0x9e37'79b9'7f4a'7c15;
    for (const auto word : placed_)
      hash = (hash ^ word) * 0x0000'0100'0000'01b3 + (hash >> 29);
    auto& bucket = known_[hash];
    const State state{placed_, value};
    if (std::ranges::find(bucket, state) != bucket.end()) return false;
    bucket.push_back(state);
    return true;
  }

private:
  using State = std::pair<std::vector<std::uint64_t>, std::uint64_t>;

  std::vector<std::uint64_t> placed_;
  std::unordered_map<std::uint64_t, std::vector<State>> known_;
};

std::string describe(const RegisterOperation& operation) {
  const auto when
      = fmt::format("called at {} and answered at {}", operation.called, operation.answered);
  switch (operation.kind) {
    case Kind::read:
      return fmt::format("a read {} saw {}", when, operation.seen);
    case Kind::write:
      return fmt::format("a write {} of {}", when, operation.value);
    case Kind::compare_and_set:
      return fmt::format(
          "a compare-and-set {} of {} to {} {}", when, operation.expected, operation.value,
          operation.succeeded ? "succeeded" : fmt::format("failed, it saw {}", operation.seen));
  }
  return "an operation";
}

}  // namespace

std::optional<std::string> find_nonlinearizable(const std::vector<RegisterOperation>& history) {
  const auto operations = relevant(history);
  Timeline timeline{operations};
  Memory memory{operations.size()};

  struct Step {
    std::size_t call;
    std::uint64_t value;  ///< Before it.
  };

  std::vector<Step> steps;
  std::uint64_t value = 0;
  std::size_t furthest = 0;
  std::size_t stopped_at = 0;
  auto position = timeline.first();
  while (timeline.first() != timeline.end()) {
    const auto& entry = timeline.at(position);
    if (position != timeline.end() && entry.is_call) {
      const auto next = after(operations[entry.operation], value);
      if (next) {
        memory.flip(entry.operation);
        if (memory.remember(*next)) {
          steps.push_back({position, value});
          value = *next;
          timeline.lift(position);
          position = timeline.first();
          continue;
        }
        memory.flip(entry.operation);
      }
      position = entry.next;
      continue;
    }
    // An answer whose operation found no place before it.
    if (steps.size() >= furthest && position != timeline.end()) {
      furthest = steps.size();
      stopped_at = entry.operation;
    }
    if (steps.empty())
      return fmt::format("no order explains {}; {} of {} operations have a place before it",
                         describe(operations[stopped_at]), furthest, operations.size());
    const auto step = steps.back();
    steps.pop_back();
    value = step.value;
    memory.flip(timeline.at(step.call).operation);
    timeline.put_back(step.call);
    position = timeline.at(step.call).next;
  }
  return std::nullopt;
}

}  // namespace nomad::test
