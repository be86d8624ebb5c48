// The core's parts alone: log_view, quorum, config_change, configuration, progress.
#include <algorithm>
#include <map>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/base/random.hpp"
#include "runtime/raft/config_change.hpp"
#include "runtime/raft/invariant.hpp"
#include "runtime/raft/log_view.hpp"
#include "runtime/raft/progress.hpp"
#include "runtime/raft/quorum.hpp"
#include "test/support/result_text.hpp"

using namespace nomad;
using namespace nomad::raft;

namespace {

Entry entry(Index index, Term term, std::size_t size = 10) {
  return {index, term, EntryKind::command, Bytes::copy(std::string(size, 'x'))};
}

Configuration members(int voters, int learners = 0) {
  Configuration configuration{.cluster_id = "c", .members = {}, .removed = {}};
  for (int number = 0; number < voters + learners; ++number)
    configuration.members.push_back({.id = std::string(1, static_cast<char>('a' + number)),
                                     .address = "host" + std::to_string(number),
                                     .voter = number < voters});
  return configuration;
}

}  // namespace

TEST_CASE("log_view: behaves as a plain list of entries under random changes") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    Random random{seed};
    LogView view{0, 0, 500};
    std::vector<Entry> model;  // from `base + 1` on
    Index base = 0;
    Term base_term = 0;
    for (int round = 0; round < 100; ++round) {
      const auto last = base + model.size();
      const auto last_term = model.empty() ? base_term : model.back().term;
      switch (random.below(5)) {
        case 0:
        case 1: {
          const auto number = random.below(100);
          model.push_back(entry(last + 1, last_term + random.below(3) / 2, number));
          view.append(model.back());
          break;
        }
        case 2:
          if (!model.empty()) {
            const auto first = base + 1 + random.below(model.size());
            model.resize(first - base - 1);
            view.truncate_from(first);
          }
          break;
        case 3:
          if (!model.empty() && random.chance(0.3)) {
            const auto through = base + 1 + random.below(model.size());
            base_term = model[through - base - 1].term;
            model.erase(model.begin(), model.begin() + static_cast<std::ptrdiff_t>(through - base));
            base = through;
            view.compact_to(through);
          }
          break;
        default:
          view.release(base + random.below(model.size() + 1));
      }
      REQUIRE(view.base_index() == base);
      REQUIRE(view.last_index() == base + model.size());
      REQUIRE(view.term_at(base) == base_term);
      REQUIRE_FALSE(view.term_at(view.last_index() + 1).has_value());
      for (const auto& one : model)
        REQUIRE(view.term_at(one.index) == one.term);
      const auto cached = view.cached_from();
      const auto got = view.entries(cached, view.last_index(), std::size_t{1} << 30);
      REQUIRE(got.size() == view.last_index() + 1 - cached);
      for (const auto& one : got)
        REQUIRE(one == model[one.index - base - 1]);
      const auto limit = base + random.below(model.size() + 1);
      const auto term = random.below(last_term + 2);
      auto meets = limit;
      while (meets > base && model[meets - base - 1].term > term)
        --meets;
      REQUIRE(view.last_with_term_at_most(term, limit) == meets);
    }
  }
}

TEST_CASE("log_view: holes and falling terms are refused") {
  LogView view{5, 3};
  CHECK_THROWS_AS(view.append(entry(7, 3)), InvariantViolated);
  CHECK_THROWS_AS(view.append(entry(6, 2)), InvariantViolated);
  CHECK_THROWS_AS(view.truncate_from(5), InvariantViolated);
}

TEST_CASE("log_view: what goes makes room in memory again") {
  const auto each = cost(entry(1, 1));
  const auto filled = [each] {
    LogView view{0, 0, 3 * each};
    for (Index index = 1; index <= 3; ++index)
      view.append(entry(index, 1));
    view.release(3);
    return view;
  };
  auto view = filled();
  CHECK(view.cached_from() == 1);
  view.append(entry(4, 1));
  CHECK(view.cached_from() == 2);
  view.append(entry(5, 1));
  CHECK(view.cached_from() == 3);

  view = filled();
  view.truncate_from(3);
  view.append(entry(3, 2));
  CHECK(view.cached_from() == 1);

  view = filled();
  view.compact_to(1);
  view.append(entry(4, 1));
  CHECK(view.cached_from() == 2);
}

TEST_CASE("log_view: what was not released stays in memory, however much it is") {
  LogView view{0, 0, 1};
  for (Index index = 1; index <= 3; ++index)
    view.append(entry(index, 1));
  CHECK(view.cached_from() == 1);
  view.release(2);
  CHECK(view.cached_from() == 3);
  view.release(3);
  CHECK(view.cached_from() == 4);
  CHECK(view.entries(4, 9, 1).empty());
}

TEST_CASE("log_view: entries up to so many bytes, the first whatever its size") {
  LogView view{0, 0};
  for (Index index = 1; index <= 3; ++index)
    view.append(entry(index, 1));
  const auto each = cost(entry(1, 1));
  CHECK(view.entries(1, 3, 2 * each).size() == 2);
  CHECK(view.entries(1, 3, 2 * each - 1).size() == 1);
  CHECK(view.entries(2, 3, 1).size() == 1);
}

TEST_CASE("log_view: a term stays as long as one entry of it does") {
  LogView view{0, 0};
  for (const auto term : {1, 1, 2, 2})
    view.append(entry(view.last_index() + 1, static_cast<Term>(term)));
  view.truncate_from(4);
  CHECK(view.last_term() == 2);
  view.truncate_from(3);
  CHECK(view.last_term() == 1);
}

TEST_CASE("quorum: the largest number that a majority has reached") {
  Random random{7};
  for (int round = 0; round < 500; ++round) {
    const auto configuration = members(static_cast<int>(1 + random.below(7)), 2);
    std::map<ServerId, std::uint64_t> numbers;
    for (const auto& member : configuration.members)
      numbers[member.id] = random.below(6);
    const auto reached
        = reached_by_quorum(configuration, [&](const ServerId& id) { return numbers[id]; });
    const auto count_with = [&](std::uint64_t number) {
      return std::ranges::count_if(configuration.members, [&](const Member& member) {
        return member.voter && numbers[member.id] >= number;
      });
    };
    const auto majority = static_cast<std::ptrdiff_t>(configuration.voter_count() / 2 + 1);
    CHECK(count_with(reached) >= majority);
    CHECK(count_with(reached + 1) < majority);
  }
  CHECK(reached_by_quorum(members(0, 3), [](const ServerId&) { return 9; }) == 0);
}

TEST_CASE("quorum: an election is won, lost or open") {
  const auto result = [](int voters, std::string votes) {
    return count_votes(members(voters), [votes](const ServerId& id) {
      const auto at = static_cast<std::size_t>(id.front() - 'a');
      return at >= votes.size() || votes[at] == '?' ? -1 : votes[at] == 'y';
    });
  };
  CHECK(result(1, "y") == VoteResult::won);
  CHECK(result(3, "yy") == VoteResult::won);
  CHECK(result(3, "yn") == VoteResult::pending);
  CHECK(result(3, "ynn") == VoteResult::lost);
  CHECK(result(4, "yynn") == VoteResult::lost);
  CHECK(result(4, "yyy") == VoteResult::won);
  CHECK(result(5, "ynny") == VoteResult::pending);
}

TEST_CASE("config_change: one server at a time, by the rules") {
  const auto base = members(2);
  const auto with = changed(base, {.action = MemberAction::add_learner, .id = "n", .address = "h"});
  REQUIRE(with);
  CHECK_FALSE(with->is_voter("n"));
  const auto promoted = changed(*with, {.action = MemberAction::promote, .id = "n", .address = {}});
  REQUIRE(promoted);
  CHECK(promoted->is_voter("n"));
  const auto removed
      = changed(*promoted, {.action = MemberAction::remove, .id = "n", .address = {}});
  REQUIRE(removed);
  CHECK(removed->find("n") == nullptr);

  const auto refused
      = [](const Configuration& from, MemberAction action, ServerId id, std::string address = {}) {
          const auto outcome = changed(from, {.action = action, .id = id, .address = address});
          return outcome ? std::string{"accepted"} : outcome.error().what;
        };
  CHECK(refused(*removed, MemberAction::add_learner, "n", "h").find("was removed")
        != std::string::npos);
  CHECK(refused(base, MemberAction::add_learner, "a", "h") == "server \"a\" is a member already");
  CHECK(refused(base, MemberAction::add_learner, "n", "host1")
        == "server \"n\" has the address of member \"b\"");
  CHECK(refused(base, MemberAction::promote, "a") == "server \"a\" is a voter already");
  CHECK(refused(base, MemberAction::remove, "x") == "server \"x\" is no member");
  CHECK(refused(members(1), MemberAction::remove, "a") == "server \"a\" is the last voter");
  CHECK(refused(members(1), MemberAction::demote, "a") == "server \"a\" is the last voter");
  CHECK(refused(*with, MemberAction::demote, "n") == "server \"n\" is no voter");
  CHECK(refused(base, MemberAction::add_learner, "", "h") == "a member needs an id");
}

TEST_CASE("config_history: goes back with the log") {
  ConfigHistory history{{.index = 1, .configuration = members(1)}};
  history.append(5, members(2));
  history.append(9, members(3));
  CHECK(history.latest().members.size() == 3);
  CHECK(history.at(8).configuration.members.size() == 2);
  CHECK(history.at(4).index == 1);

  history.truncate_from(9);
  CHECK(history.latest_index() == 5);
  history.compact_to(7);
  CHECK(history.at(7).index == 5);
  history.truncate_from(8);
  CHECK(history.latest_index() == 5);
}

TEST_CASE("config_history: keeps what is in force, and drops what begins with what goes") {
  ConfigHistory history{{.index = 1, .configuration = members(1)}};
  history.append(5, members(2));
  history.truncate_from(5);
  CHECK(history.latest_index() == 1);
  history.truncate_from(1);
  CHECK(history.latest_index() == 1);  // the base's stays

  history.append(5, members(2));
  history.compact_to(4);
  CHECK(history.at(4).index == 1);
  history.compact_to(5);
  CHECK_THROWS_AS(history.at(4), InvariantViolated);
  CHECK(history.at(5).index == 5);
  history.compact_to(9);
  CHECK(history.latest_index() == 5);
}

TEST_CASE("config_change: a voter may become a learner again, as long as another one votes") {
  const auto demoted
      = changed(members(2), {.action = MemberAction::demote, .id = "a", .address = {}});
  REQUIRE(demoted);
  CHECK_FALSE(demoted->is_voter("a"));
  CHECK(demoted->voter_count() == 1);
}

TEST_CASE("configuration: survives its encoding; other bytes are refused") {
  auto configuration = members(3, 1);
  configuration.removed = {"x", "y"};
  const auto bytes = encode(configuration);
  CHECK(decode_configuration(bytes.view()).value() == configuration);
  auto long_named = members(1);
  long_named.members[0].address = std::string(70'000, 'h');
  CHECK(decode_configuration(encode(long_named).view()).value() == long_named);

  CHECK(static_cast<unsigned char>(bytes.text()[0]) == 1);  // the format's number, low byte first
  const Error broken{Errc::corrupt, "raft configuration is truncated or has trailing bytes"};
  for (std::size_t size = 0; size < bytes.size(); ++size)
    CHECK(decode_configuration(bytes.view().first(size)).error() == broken);
  const auto longer = Bytes::copy(std::string{bytes.text()} + "x");
  CHECK(decode_configuration(longer.view()).error() == broken);
  std::string newer{bytes.text()};
  newer[0] = 2;
  CHECK(decode_configuration(std::as_bytes(std::span{newer})).error()
        == Error{Errc::corrupt, "raft configuration has format 2, expected 1"});
  Random random{3};
  for (int round = 0; round < 2'000; ++round) {
    std::string noise{bytes.text()};
    noise[random.below(noise.size())] = static_cast<char>(random.next());
    if (const auto read = decode_configuration(std::as_bytes(std::span{noise})); read)
      CHECK(encode(*read).size() == noise.size());
  }
}

TEST_CASE("progress: the window fills, empties and is forgotten") {
  Progress progress;
  progress.become_replicate();
  progress.sent(3, 100);
  progress.sent(6, 100);
  CHECK(progress.next_index == 7);
  CHECK(progress.inflight_bytes == 200);

  CHECK(progress.matched(3));
  CHECK_FALSE(progress.matched(2));
  CHECK_FALSE(progress.matched(3));
  CHECK(progress.inflight.size() == 1);
  CHECK(progress.inflight_bytes == 100);
  CHECK(progress.matched(9));  // more than was sent
  CHECK(progress.next_index == 10);
  CHECK(progress.inflight_bytes == 0);
  progress.match_index = 3;

  progress.become_probe();
  CHECK(progress.next_index == 4);
  CHECK(progress.inflight_bytes == 0);
  progress.sent(5, 10);
  CHECK(progress.paused);
  CHECK(progress.next_index == 4);
}

TEST_CASE("configuration: no more members are read than a cluster can have") {
  auto most = members(1);
  most.removed.assign(4096, "x");
  CHECK(decode_configuration(encode(most).view()).value() == most);
  most.removed.emplace_back("x");
  CHECK(decode_configuration(encode(most).view()).has_error());
}

TEST_CASE("progress: a chunk is repeated when the patience with it is over, or it is lost") {
  OutgoingSnapshot chunk;
  chunk.shortest_patience = chunk.patience = Time{100};
  chunk.sent(Time{1'000});
  CHECK_FALSE(chunk.is_due(Time{1'100}));
  CHECK(chunk.is_due(Time{1'101}));
  chunk.lost = true;
  CHECK(chunk.is_due(Time{1'000}));
}

TEST_CASE("progress: only a chunk that went tells how long an answer takes") {
  OutgoingSnapshot chunk;
  chunk.shortest_patience = chunk.patience = Time{100};
  chunk.move_to(5, Time{1'000});
  CHECK(chunk.patience == Time{100});
  chunk.sent(Time{1'000});
  chunk.move_to(9, Time{1'200});
  CHECK(chunk.patience == Time{400});
}
