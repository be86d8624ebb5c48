// FaultVfs: a file system for SQLite that fails on command and forgets what was not synced when
// the power goes. It wraps SQLite's own one; files stay real files.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/base/random.hpp"

namespace nomad::test {

enum class DiskFault : std::uint8_t {
  none,
  io_error,     ///< EIO.
  disk_full,    ///< ENOSPC.
  short_write,  ///< Half of the bytes arrive, then ENOSPC.
};

/// One at a time in a process. All connections that use it are closed before it goes.
class FaultVfs {
public:
  FaultVfs();
  FaultVfs(const FaultVfs&) = delete;
  FaultVfs& operator=(const FaultVfs&) = delete;
  ~FaultVfs();

  /// For OpenOptions::vfs.
  static std::string name();

  /// After `count` more writes each write fails.
  void fail_writes_after(int count, DiskFault fault);

  /// After `count` more syncs each sync fails, and what it should have made durable is not.
  void fail_syncs_after(int count);

  /// After `count` more reads each read fails.
  void fail_reads_after(int count);

  /// Each sync claims success and does nothing: a lying disk, to see the tests notice.
  void ignore_syncs();

  void heal();

  std::uint64_t writes() const;
  std::uint64_t syncs() const;

  /// Every access fails from now on. Then close all connections and call `power_on`.
  void power_off();

  /// Gives every file a content that a power cut may have left: all that was synced, and of each
  /// later write all, nothing, or some of its 512-byte sectors.
  void power_on(Random& random);

  struct State;

private:
  std::unique_ptr<State> state_;
};

}  // namespace nomad::test
