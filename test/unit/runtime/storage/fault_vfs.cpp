#include "test/unit/runtime/storage/fault_vfs.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include <sqlite3.h>

namespace nomad::test {

/// A write, or a truncation when `size` is set, that was not synced yet.
struct TrackedChange {
  std::size_t offset = 0;
  std::vector<char> bytes;
  std::optional<std::size_t> size;
};

struct TrackedFile {
  std::vector<char> durable;
  std::vector<TrackedChange> pending;
};

namespace {

constexpr const char* vfs_name = "nomadctl-fault";
constexpr std::size_t sector = 512;

std::vector<char> content_of(const std::string& path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, std::istreambuf_iterator<char>{}};
}

void put(std::vector<char>& content, std::size_t offset, std::span<const char> bytes) {
  content.resize(std::max(content.size(), offset + bytes.size()));
  std::copy(bytes.begin(), bytes.end(), content.begin() + static_cast<std::ptrdiff_t>(offset));
}

void apply(std::vector<char>& content, const TrackedChange& change) {
  if (change.size)
    content.resize(*change.size);
  else
    put(content, change.offset, change.bytes);
}

/// What of `change` may have reached the disk.
void apply_some(std::vector<char>& content, const TrackedChange& change, Random& random) {
  const auto luck = random.below(4);
  if (luck == 0) return;
  if (luck < 3 || change.size) return apply(content, change);
  for (std::size_t at = 0; at < change.bytes.size(); at += sector) {
    const auto part = std::min(sector, change.bytes.size() - at);
    if (random.chance(0.5)) put(content, change.offset + at, {change.bytes.data() + at, part});
  }
}

}  // namespace

struct FaultVfs::State {
  sqlite3_vfs vfs{};
  sqlite3_vfs* real = nullptr;
  std::map<std::string, TrackedFile> files;
  std::uint64_t writes = 0;
  std::uint64_t syncs = 0;
  int writes_left = -1;
  int syncs_left = -1;
  int reads_left = -1;
  DiskFault write_fault = DiskFault::none;
  bool lying = false;
  bool off = false;

  /// Counts one use of a budget of good operations down; true when it is used up.
  static bool used_up(int& left) {
    if (left < 0) return false;
    if (left == 0) return true;
    --left;
    return false;
  }
};

namespace {

/// What SQLite sees as an open file; the wrapped file follows in memory.
struct OpenFile {
  sqlite3_file base;
  FaultVfs::State* state;
  TrackedFile* tracked;

  sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};

OpenFile* of(sqlite3_file* file) {
  return reinterpret_cast<OpenFile*>(file);
}

sqlite3_file* real(sqlite3_file* file) {
  return of(file)->real();
}

int on_close(sqlite3_file* file) {
  return real(file)->pMethods->xClose(real(file));
}

int on_read(sqlite3_file* file, void* into, int count, sqlite3_int64 offset) {
  auto& state = *of(file)->state;
  if (state.off || FaultVfs::State::used_up(state.reads_left)) return SQLITE_IOERR_READ;
  return real(file)->pMethods->xRead(real(file), into, count, offset);
}

int on_write(sqlite3_file* file, const void* from, int count, sqlite3_int64 offset) {
  auto& state = *of(file)->state;
  if (state.off) return SQLITE_IOERR_WRITE;
  const bool fails = FaultVfs::State::used_up(state.writes_left);
  if (fails && state.write_fault == DiskFault::io_error) return SQLITE_IOERR_WRITE;
  if (fails && state.write_fault == DiskFault::disk_full) return SQLITE_FULL;
  const int written = fails ? count / 2 : count;
  ++state.writes;
  if (of(file)->tracked != nullptr) {
    const auto* bytes = static_cast<const char*>(from);
    of(file)->tracked->pending.push_back({.offset = static_cast<std::size_t>(offset),
                                          .bytes = {bytes, bytes + written},
                                          .size = {}});
  }
  const int result = real(file)->pMethods->xWrite(real(file), from, written, offset);
  return fails ? SQLITE_FULL : result;
}

int on_truncate(sqlite3_file* file, sqlite3_int64 size) {
  auto& state = *of(file)->state;
  if (state.off) return SQLITE_IOERR_TRUNCATE;
  if (of(file)->tracked != nullptr)
    of(file)->tracked->pending.push_back(
        {.offset = 0, .bytes = {}, .size = static_cast<std::size_t>(size)});
  return real(file)->pMethods->xTruncate(real(file), size);
}

int on_sync(sqlite3_file* file, int) {
  auto& state = *of(file)->state;
  if (state.off || FaultVfs::State::used_up(state.syncs_left)) return SQLITE_IOERR_FSYNC;
  ++state.syncs;
  if (state.lying || of(file)->tracked == nullptr) return SQLITE_OK;
  for (const auto& change : of(file)->tracked->pending)
    apply(of(file)->tracked->durable, change);
  of(file)->tracked->pending.clear();
  return SQLITE_OK;
}

int on_size(sqlite3_file* file, sqlite3_int64* size) {
  return real(file)->pMethods->xFileSize(real(file), size);
}

int on_lock(sqlite3_file* file, int level) {
  return real(file)->pMethods->xLock(real(file), level);
}

int on_unlock(sqlite3_file* file, int level) {
  return real(file)->pMethods->xUnlock(real(file), level);
}

int on_check_lock(sqlite3_file* file, int* held) {
  return real(file)->pMethods->xCheckReservedLock(real(file), held);
}

int on_control(sqlite3_file* file, int operation, void* argument) {
  return real(file)->pMethods->xFileControl(real(file), operation, argument);
}

int on_sector_size(sqlite3_file* file) {
  return real(file)->pMethods->xSectorSize(real(file));
}

int on_device(sqlite3_file* file) {
  return real(file)->pMethods->xDeviceCharacteristics(real(file));
}

int on_shm_map(sqlite3_file* file, int region, int size, int extend, void volatile** address) {
  return real(file)->pMethods->xShmMap(real(file), region, size, extend, address);
}

int on_shm_lock(sqlite3_file* file, int offset, int count, int flags) {
  return real(file)->pMethods->xShmLock(real(file), offset, count, flags);
}

void on_shm_barrier(sqlite3_file* file) {
  real(file)->pMethods->xShmBarrier(real(file));
}

int on_shm_unmap(sqlite3_file* file, int remove) {
  return real(file)->pMethods->xShmUnmap(real(file), remove);
}

const sqlite3_io_methods methods = {
    2,           on_close,       on_read,       on_write,   on_truncate,    on_sync,   on_size,
    on_lock,     on_unlock,      on_check_lock, on_control, on_sector_size, on_device, on_shm_map,
    on_shm_lock, on_shm_barrier, on_shm_unmap,  nullptr,    nullptr,
};

int on_open(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags, int* granted) {
  auto& state = *static_cast<FaultVfs::State*>(vfs->pAppData);
  auto* opened = of(file);
  opened->base.pMethods = nullptr;
  opened->state = &state;
  opened->tracked = nullptr;
  if (state.off) return SQLITE_CANTOPEN;
  const bool lasting
      = path != nullptr
        && (flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL));
  if (lasting) {
    auto [at, is_new] = state.files.try_emplace(path);
    if (is_new) at->second.durable = content_of(path);
    opened->tracked = &at->second;
  }
  const int result = state.real->xOpen(state.real, path, opened->real(), flags, granted);
  if (result == SQLITE_OK) opened->base.pMethods = &methods;
  return result;
}

int on_delete(sqlite3_vfs* vfs, const char* path, int sync_directory) {
  auto& state = *static_cast<FaultVfs::State*>(vfs->pAppData);
  if (state.off) return SQLITE_IOERR_DELETE;
  if (auto found = state.files.find(path); found != state.files.end()) found->second = {};
  return state.real->xDelete(state.real, path, sync_directory);
}

}  // namespace

FaultVfs::FaultVfs() : state_(std::make_unique<State>()) {
  state_->real = sqlite3_vfs_find(nullptr);
  state_->vfs = *state_->real;
  state_->vfs.zName = vfs_name;
  state_->vfs.pAppData = state_.get();
  state_->vfs.szOsFile = static_cast<int>(sizeof(OpenFile)) + state_->real->szOsFile;
  state_->vfs.xOpen = on_open;
  state_->vfs.xDelete = on_delete;
  // The remaining members of the system's VFS use no private data of it but its lock style finder.
  state_->vfs.pNext = nullptr;
  sqlite3_vfs_register(&state_->vfs, 0);
}

FaultVfs::~FaultVfs() {
  sqlite3_vfs_unregister(&state_->vfs);
}

std::string FaultVfs::name() {
  return vfs_name;
}

void FaultVfs::fail_writes_after(int count, DiskFault fault) {
  state_->writes_left = count;
  state_->write_fault = fault;
}

void FaultVfs::fail_syncs_after(int count) {
  state_->syncs_left = count;
}

void FaultVfs::fail_reads_after(int count) {
  state_->reads_left = count;
}

void FaultVfs::ignore_syncs() {
  state_->lying = true;
}

void FaultVfs::heal() {
  state_->writes_left = state_->syncs_left = state_->reads_left = -1;
  state_->lying = false;
}

std::uint64_t FaultVfs::writes() const {
  return state_->writes;
}

std::uint64_t FaultVfs::syncs() const {
  return state_->syncs;
}

void FaultVfs::power_off() {
  state_->off = true;
}

void FaultVfs::power_on(Random& random) {
  for (auto& [path, file] : state_->files) {
    auto content = std::move(file.durable);
    for (const auto& change : file.pending)
      apply_some(content, change, random);
    std::error_code missing;
    std::filesystem::remove(path + "-shm", missing);
    if (content.empty() && path.ends_with("-wal")) {
      std::filesystem::remove(path, missing);
      continue;
    }
    std::ofstream out{path, std::ios::binary | std::ios::trunc};
    out.write(content.data(), static_cast<std::streamsize>(content.size()));
  }
  state_->files.clear();
  state_->off = false;
  heal();
}

}  // namespace nomad::test
