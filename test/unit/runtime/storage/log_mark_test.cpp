// runtime/storage/log_mark: what a log must hold after writes, and what on the way there.
#include "runtime/storage/log_mark.hpp"

#include <array>

#include <doctest/doctest.h>

#include "test/support/result_text.hpp"

using namespace nomad;
using raft::LogWrite;
using storage::LogMark;

namespace {

LogWrite of_entry(raft::Index index, raft::Term term) {
  LogWrite write;
  write.append.push_back({index, term, raft::EntryKind::command, {}});
  return write;
}

const LogMark before{.owner = 7, .term = 2, .vote = 0, .last = 10, .last_term = 2};

}  // namespace

TEST_CASE("log_mark: appended entries are promised when they are written") {
  const std::array writes{of_entry(11, 2), of_entry(12, 3)};
  CHECK(before.during(writes) == before);
  CHECK(before.after(writes)
        == LogMark{.owner = 7, .term = 2, .vote = 0, .last = 12, .last_term = 3});
}

TEST_CASE("log_mark: what is about to be dropped is not promised any more") {
  auto truncate = of_entry(8, 3);
  truncate.truncate_from = 8;
  const std::array writes{of_entry(11, 2), truncate};
  CHECK(before.during(writes).last == 7);
  CHECK(before.during(writes).last_term == 0);
  CHECK(before.after(writes).last == 8);
  CHECK(before.after(writes).last_term == 3);

  LogWrite beyond;
  beyond.truncate_from = 11;
  CHECK(before.during({&beyond, 1}) == before);
  CHECK(before.after({&beyond, 1}) == before);
}

TEST_CASE("log_mark: a reset promises what the snapshot covers") {
  LogWrite reset;
  reset.reset_to = 100;
  CHECK(before.during({&reset, 1}) == before);
  CHECK(before.after({&reset, 1}).last == 100);
  CHECK(before.after({&reset, 1}).last_term == 0);
  reset.reset_to = 5;
  CHECK(before.during({&reset, 1}).last == 5);
}

TEST_CASE("log_mark: term and vote only go forward") {
  LogWrite vote;
  vote.hard_state = {.current_term = 4, .voted_for = "b"};
  const auto mark = before.after({&vote, 1});
  CHECK(mark.check({.current_term = 4, .voted_for = "b"}));
  CHECK(mark.check({.current_term = 5, .voted_for = {}}));
  CHECK(mark.check({.current_term = 3, .voted_for = "b"}).error().code == Errc::corrupt);
  CHECK(mark.check({.current_term = 4, .voted_for = {}}).error()
        == Error{Errc::corrupt, "the vote given in term 4 is missing"});
  CHECK(mark.check({.current_term = 4, .voted_for = "c"}).error().code == Errc::corrupt);
  CHECK(before.check({.current_term = 2, .voted_for = "c"}));
}

TEST_CASE("log_mark: comes back from its bytes") {
  CHECK(LogMark::decode(before.encode()).value() == before);
  CHECK(LogMark::decode("short").error()
        == Error{Errc::corrupt, "a mark has " + std::to_string(sizeof(LogMark)) + " bytes, not 5"});
}
