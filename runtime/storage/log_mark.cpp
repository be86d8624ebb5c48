#include "runtime/storage/log_mark.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include <fmt/format.h>

#include "runtime/storage/checksum.hpp"

namespace nomad::storage {
namespace {

constexpr std::uint64_t seed_of_ids = 0x6d61'726b'0000'0002;

static_assert(std::is_trivially_copyable_v<LogMark>);

void drop_from(LogMark& mark, raft::Index first) {
  if (first > mark.last) return;
  mark.last = first - 1;
  mark.last_term = 0;
}

void add(LogMark& mark, const raft::LogWrite& write) {
  if (write.hard_state) {
    mark.term = write.hard_state->current_term;
    mark.vote = LogMark::sum_of(write.hard_state->voted_for);
  }
  if (write.reset_to) {
    mark.last = *write.reset_to;
    mark.last_term = 0;
  }
  if (write.truncate_from) drop_from(mark, *write.truncate_from);
  if (write.append.empty()) return;
  mark.last = write.append.back().index;
  mark.last_term = write.append.back().term;
}

}  // namespace

std::uint64_t LogMark::sum_of(std::string_view id) {
  return id.empty() ? 0 : std::max<std::uint64_t>(checksum(id, seed_of_ids), 1);
}

LogMark LogMark::after(std::span<const raft::LogWrite> writes) const {
  auto mark = *this;
  for (const auto& write : writes)
    add(mark, write);
  return mark;
}

LogMark LogMark::during(std::span<const raft::LogWrite> writes) const {
  auto mark = *this;
  for (const auto& write : writes) {
    if (write.reset_to) drop_from(mark, *write.reset_to + 1);
    if (write.truncate_from) drop_from(mark, *write.truncate_from);
  }
  return mark;
}

Result<> LogMark::check(const raft::HardState& state) const {
  if (state.current_term < term)
    return Error{Errc::corrupt,
                 fmt::format("its term is {}, but {} was acknowledged", state.current_term, term)};
  if (state.current_term == term && vote != 0 && sum_of(state.voted_for) != vote)
    return Error{Errc::corrupt, fmt::format("the vote given in term {} is missing", term)};
  return {};
}

std::string LogMark::encode() const {
  return {reinterpret_cast<const char*>(this), sizeof *this};
}

Result<LogMark> LogMark::decode(std::string_view bytes) {
  LogMark mark;
  if (bytes.size() != sizeof mark)
    return Error{Errc::corrupt,
                 fmt::format("a mark has {} bytes, not {}", sizeof mark, bytes.size())};
  std::memcpy(&mark, bytes.data(), sizeof mark);
  return mark;
}

}  // namespace nomad::storage
