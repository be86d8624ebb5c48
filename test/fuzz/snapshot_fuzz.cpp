// Snapshot files: whatever bytes an operator hands in, reading them ends, in a snapshot or an
// error. The input is tried as an archive, and as the snapshot file inside one.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>

#include <unistd.h>

#include "runtime/state/store.hpp"
#include "runtime/storage/snapshot_archive.hpp"
#include "runtime/storage/snapshot_file.hpp"

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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
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
