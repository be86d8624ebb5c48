// One core "a", whose surroundings a test plays: its disk, its clock and the other servers.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/raft/core.hpp"

namespace nomad::raft::testing {

inline const std::vector<ServerId> three_voters{"a", "b", "c"};

/// A cluster "c" of these voters and learners.
inline Configuration cluster_of(const std::vector<ServerId>& voters,
                                const std::vector<ServerId>& learners = {}) {
  Configuration made{.cluster_id = "c", .members = {}, .removed = {}};
  for (const auto& id : voters)
    made.members.push_back({.id = id, .address = {}, .voter = true});
  for (const auto& id : learners)
    made.members.push_back({.id = id, .address = {}, .voter = false});
  return made;
}

/// A log that begins with the members, of term 1, and goes on with commands of these terms.
inline StartState started_with(const Configuration& members,
                               const std::vector<Term>& terms = {},
                               std::size_t cache_bytes = std::size_t{1} << 20) {
  StartState start;
  start.hard_state = {.current_term = terms.empty() ? 1 : terms.back(), .voted_for = {}};
  start.log = LogView{0, 0, cache_bytes};
  start.log.append(
      {.index = 1, .term = 1, .kind = EntryKind::configuration, .payload = encode(members)});
  start.configs.append(1, members);
  for (const auto term : terms)
    start.log.append({.index = start.log.last_index() + 1,
                      .term = term,
                      .kind = EntryKind::command,
                      .payload = Bytes::copy("old")});
  return start;
}

struct LoneCore {
  Core core;
  Time now{0};
  Outputs out;  ///< Of the last step.

  explicit LoneCore(StartState start, CoreOptions options = {.self = "a"})
      : core{std::move(options), std::move(start), Random{1}, Time{0}} {}

  /// Of three voters; "a" has stood for election and leads term 2, with nothing but the barrier
  /// new.
  static LoneCore leading(StartState start, CoreOptions options = {.self = "a"}) {
    LoneCore made{std::move(start), std::move(options)};
    made.elect();
    return made;
  }

  const Outputs& step(Input input) {
    out = core.step(now, std::move(input));
    if (out.write) written = out.write_seq;
    return out;
  }

  const Outputs& tick_at(Time at) {
    now = at;
    return step(Tick{});
  }

  /// All that was written is durable.
  const Outputs& persist() { return step(Persisted{written}); }

  const Outputs& receive(const ServerId& from, Term term, Body body, std::string cluster = "c") {
    return step(Received{{.cluster_id = std::move(cluster),
                          .from = from,
                          .to = "a",
                          .term = term,
                          .body = std::move(body)}});
  }

  /// Of the term that "a" is in.
  const Outputs& receive(const ServerId& from, Body body) {
    return receive(from, core.current_term(), std::move(body));
  }

  /// `from` has everything up to `match`.
  const Outputs& accept(const ServerId& from, Index match, Round round = 1) {
    return receive(from, AppendReply{.accepted = true, .match_index = match, .round = round});
  }

  const Outputs& propose(int count = 1) {
    return step(ProposeCommands{std::vector(static_cast<std::size_t>(count), Bytes::copy("new"))});
  }

  void elect() {
    tick_at(core.next_deadline().value());
    receive("b", core.current_term() + 1, VoteReply{.pre_vote = true, .granted = true});
    persist();
    receive("b", VoteReply{.pre_vote = false, .granted = true});
  }

  /// What the last step sends to `to`.
  template <class Body>
  std::vector<Body> sent(const ServerId& to) const {
    std::vector<Body> bodies;
    for (const auto& message : out.messages)
      if (message.to == to)
        if (const auto* body = std::get_if<Body>(&message.body)) bodies.push_back(*body);
    return bodies;
  }

  std::uint64_t written = 0;
};

}  // namespace nomad::raft::testing
