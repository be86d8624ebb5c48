#include "runtime/cluster/restore_commands.hpp"

#include <limits>

#include "runtime/object/draft.hpp"

namespace nomad::cluster {
namespace {

capnp::Data::Reader data_of(const void* bytes, std::size_t size) {
  return {static_cast<const unsigned char*>(bytes), size};
}

Object<schema::Command> finish_restore(std::string_view id,
                                       std::uint64_t rows,
                                       std::uint64_t newest_index) {
  Draft<schema::Command> draft;
  auto finish = draft->initRestoreFinish();
  finish.setRestoreId(text(id));
  finish.setRows(rows);
  finish.setIndex(newest_index);
  return draft.freeze();
}

}  // namespace

RestoreCommands::RestoreCommands(std::string id, std::size_t portion_bytes)
    : id_{std::move(id)}, portion_bytes_{portion_bytes} {
  Draft<schema::Command> begin;
  begin->setRestoreBegin(text(id_));
  commands_.push_back(begin.freeze());
}

void RestoreCommands::add(std::string_view table,
                          std::string_view key,
                          std::span<const std::byte> value) {
  waiting_.push_back({std::string{table}, std::string{key}, {value.begin(), value.end()}});
  waiting_bytes_ += key.size() + value.size();
  if (waiting_bytes_ >= portion_bytes_) flush();
}

void RestoreCommands::flush() {
  if (waiting_.empty()) return;
  Draft<schema::Command> draft;
  auto command = draft->initRestoreRows();
  command.setRestoreId(text(id_));
  command.setFirstNumber(flushed_);
  auto rows = command.initRows(static_cast<unsigned>(waiting_.size()));
  for (unsigned i = 0; i < rows.size(); ++i) {
    rows[i].setTable(text(waiting_[i].table));
    rows[i].setKey(data_of(waiting_[i].key.data(), waiting_[i].key.size()));
    rows[i].setValue(data_of(waiting_[i].value.data(), waiting_[i].value.size()));
  }
  flushed_ += waiting_.size();
  waiting_.clear();
  waiting_bytes_ = 0;
  commands_.push_back(draft.freeze());
}

std::vector<Object<schema::Command>> RestoreCommands::finish(std::uint64_t newest_index) {
  flush();
  commands_.push_back(finish_restore(id_, flushed_, newest_index));
  return std::move(commands_);
}

std::string restore_under_way(const state::Snapshot& snapshot) {
  const auto& rows = snapshot.rows<state::kind::RestoreRows>();
  return rows.empty() ? std::string{} : std::string{rows.all().begin()->key()};
}

Object<schema::Command> abandon_restore(std::string_view id) {
  return finish_restore(id, std::numeric_limits<std::uint64_t>::max(), 0);
}

bool is_abandoned(const Error& refusal) {
  return refusal.code == Errc::conflict;
}

}  // namespace nomad::cluster
