#include "test/properties/writes/write_pairs.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "runtime/state/reads/read_set.hpp"
#include "test/properties/writes/lock_rules.hpp"

namespace nomad::properties {

using state::Snapshot;
using state::Store;

namespace {

/// What is to be applied for a request that was decided on a state; empty: nothing.
Object<schema::Command> decide(const WriteRequest& request, const Snapshot& state, Guards guards) {
  const auto reads = std::make_shared<state::ReadSet>();
  const auto command = request.decide(state.noting(reads));
  if (!command || !*command) return {};
  return guards == Guards::kept ? reads->guard(*command, state.tables()) : *command;
}

/// What has come of a pair.
struct End {
  bool second_was_written = false;
  std::vector<std::string> state;
};

/// A store, and the first rule of locks that something applied to it has broken.
struct Judged {
  explicit Judged(const Snapshot& base) : store{base} {}

  state::Outcome apply(state::Index index, const Object<schema::Command>& command) {
    const auto before = now();
    auto outcome = store.apply(index, *command);
    if (broken.empty()) broken = broken_lock_rule(before, *command, now());
    return outcome;
  }

  Snapshot now() {
    store.publish();
    return store.snapshot();
  }

  Store store;
  std::string broken;
};

/// The second request's end, decided on what the store has.
bool write_second(Judged& judged, state::Index index, const WriteRequest& second) {
  const auto command = second.decide(judged.now());
  return command && *command && !judged.apply(index, *command).error;
}

End end_of(Judged& judged, bool second_was_written) {
  return {second_was_written, state::describe(judged.now())};
}

std::string difference(const End& at_once, const End& in_order) {
  if (at_once.second_was_written != in_order.second_was_written)
    return at_once.second_was_written ? "the second is written, and would not be after the first"
                                      : "the second is refused, and would not be after the first";
  const auto [one, other] = std::ranges::mismatch(at_once.state, in_order.state);
  if (one == at_once.state.end() && other == in_order.state.end()) return {};
  const auto line = [](auto place, const auto& lines) {
    return place == lines.end() ? std::string{"nothing"} : place->substr(0, 200);
  };
  return fmt::format("the state is another than after one after the other: {} <> {}",
                     line(one, at_once.state), line(other, in_order.state));
}

/// Whether a lock has stood against it.
bool is_locked_out(const state::Outcome& outcome) {
  return outcome.error && outcome.error->what == "attempting to modify locked variable";
}

/// Whether the first one left the second one nothing to be decided anew for: without its guard it
/// comes to the same.
bool is_in_vain(const Snapshot& before,
                const Object<schema::Command>& first,
                const Object<schema::Command>& unguarded_second,
                Judged& in_order) {
  Judged unguarded{before};
  unguarded.apply(before.index() + 1, first);
  unguarded.apply(before.index() + 2, unguarded_second);
  return state::describe(unguarded.now()) == state::describe(in_order.now());
}

}  // namespace

std::string try_pair(std::uint64_t seed, Guards guards, WriteCounts& counts) {
  WriteWorld world{seed};
  const auto first = world.draw();
  const auto second = world.draw_beside();
  const auto before = world.state();
  const auto index = before.index();
  const auto one = decide(first, before, guards);
  const auto other = decide(second, before, guards);
  // Who had nothing to write, or was refused, has been served before the other one.
  if (!one || !other) return {};
  ++counts.writes[first.name];
  ++counts.writes[second.name];
  const auto name = fmt::format("seed {}, {} and {}: ", seed, first.name, second.name);

  Judged at_once{before};
  if (at_once.apply(index + 1, one).stale) return name + "a guard does not hold where it was made";
  const auto outcome = at_once.apply(index + 2, other);
  const bool is_written = outcome.stale ? write_second(at_once, index + 2, second) : !outcome.error;
  if (is_locked_out(outcome)) ++counts.locked_out;

  Judged in_order{before};
  in_order.apply(index + 1, *first.decide(before));
  const bool would_be = write_second(in_order, index + 2, second);
  if (outcome.stale) {
    ++counts.stale;
    if (is_in_vain(before, one, decide(second, before, Guards::dropped), in_order))
      ++counts.in_vain;
  }
  auto found = difference(end_of(at_once, is_written), end_of(in_order, would_be));
  for (const auto* judged : {&in_order, &at_once})
    if (!judged->broken.empty()) found = judged->broken;
  return found.empty() ? found : name + found;
}

}  // namespace nomad::properties
