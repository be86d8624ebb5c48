#include "runtime/storage/stable_store.hpp"

#include "runtime/storage/checksum.hpp"

namespace nomad::storage {
namespace {

constexpr std::uint64_t seed_of_stable_state = 0x7374'6162'6c65'0001;

std::uint64_t checksum_of(std::uint64_t term, std::string_view vote) {
  return checksum(vote, mix(seed_of_stable_state, term));
}

}  // namespace

Result<StableStore> StableStore::open(Database& database) {
  NOMAD_TRY(database.run(table));
  StableStore store;
  store.path_ = database.path();
  NOMAD_TRY(database.prepare(store.read_, "SELECT current_term, voted_for, checksum FROM stable"));
  NOMAD_TRY(database.prepare(store.write_,
                             "INSERT OR REPLACE INTO stable(id, current_term, voted_for, checksum)"
                             " VALUES(1, ?1, ?2, ?3)"));
  return store;
}

Result<raft::HardState> StableStore::load() {
  raft::HardState state;
  const auto found = NOMAD_TRY(read_.step("cannot read term and vote"));
  if (found) {
    state.current_term = static_cast<raft::Term>(read_.number(0));
    state.voted_for = read_.text(1);
    const auto stored = static_cast<std::uint64_t>(read_.number(2));
    read_.reset();
    if (stored != checksum_of(state.current_term, state.voted_for))
      return Error{Errc::corrupt,
                   "\"" + path_ + "\": table stable, row 1: checksum does not match"};
  }
  read_.reset();
  return state;
}

Result<> StableStore::save(const raft::HardState& state) {
  write_.bind(1, static_cast<std::int64_t>(state.current_term));
  write_.bind_blob(2, std::as_bytes(std::span{state.voted_for}));
  write_.bind(3, static_cast<std::int64_t>(checksum_of(state.current_term, state.voted_for)));
  return write_.run("cannot save term and vote");
}

}  // namespace nomad::storage
