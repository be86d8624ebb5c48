// Snapshot files: whatever bytes an operator hands in, reading them ends, in a snapshot or an
// error. The input is tried as an archive, as the snapshot file inside one, and as the rows inside
// that: checksums keep mutations from getting so far by themselves.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include "runtime/state/restore.hpp"
#include "runtime/state/store.hpp"
#include "runtime/storage/snapshot_archive.hpp"
#include "runtime/storage/snapshot_file.hpp"
#include "test/fuzz/stored_state.hpp"

namespace {

std::string file_name(const char* kind) {
  return "/tmp/nomadctl-fuzz-" + std::to_string(getpid()) + '-' + kind;
}

void restore(const std::string& path) {
  auto reader = nomad::storage::SnapshotReader::open(path);
  if (!reader) return;
  const auto names = (*reader)->tables();
  if (!names) return;
  nomad::state::Restore restored;
  for (const auto& name : *names) {
    const auto table = nomad::state::stored_table(name);
    if (!table) continue;
    const auto read
        = (*reader)->read(name, [&](std::string_view key, std::span<const std::byte> bytes) {
            return restored.row(*table, key, bytes);
          });
    if (!read) return;
  }
  static_cast<void>(restored.take().has_value());
}

/// The input as rows: table, sizes of key and value, key, value.
void restore_rows(std::span<const std::uint8_t> input) {
  nomad::state::Restore restored;
  while (input.size() >= 4) {
    const auto table = static_cast<nomad::state::Table>(input[0] % nomad::state::stored_tables);
    const std::size_t key_size = input[1];
    const auto value_size = static_cast<std::size_t>(input[2] | input[3] << 8);
    input = input.subspan(4);
    if (key_size + value_size > input.size()) break;
    const std::string_view key{reinterpret_cast<const char*>(input.data()), key_size};
    // Rows are read from where they may be read by words.
    std::vector<std::uint64_t> value((value_size + 7) / 8);
    if (value_size > 0) std::memcpy(value.data(), input.data() + key_size, value_size);
    if (!restored.row(table, key, std::as_bytes(std::span{value}).first(value_size))) return;
    input = input.subspan(key_size + value_size);
  }
  auto tables = restored.take();
  if (!tables) return;
  nomad::state::Store store;
  store.replace(std::move(*tables), 1);
  fuzz::render_all(store.snapshot());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  restore_rows({data, size});
  if (size > 0 && data[0] < nomad::state::stored_tables) return 0;  // no file begins so
  const auto input = file_name("input");
  const auto state = file_name("state");
  std::ofstream{input, std::ios::binary}.write(reinterpret_cast<const char*>(data),
                                               static_cast<std::streamsize>(size));
  if (nomad::storage::read_archive(input, state, 1 << 24)) restore(state);
  restore(input);
  std::remove(input.c_str());
  std::remove(state.c_str());
  return 0;
}
