// RowRing: the newest of what there is more of than can be kept, in one SQLite file: numbered rows,
// the oldest of which go when there are too many of them, or too many bytes. What the bytes are is
// the caller's; each row has a 64-bit checksum, and one that fails it is passed over.
//
// It is for people who look into what happened, and costs no sync: a power cut may take the newest
// rows or damage the file, which then begins anew. A process that dies loses nothing.
//
// One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.hpp"
#include "runtime/storage/sqlite.hpp"

namespace nomad::storage {

struct RingLimits {
  std::uint64_t rows = 10'000;
  std::uint64_t bytes = std::uint64_t{64} << 20;     ///< Of all values; the file is little larger.
  std::uint64_t row_bytes = std::uint64_t{4} << 20;  ///< Of one value.
};

/// What is written: it refers to the caller's memory.
struct RingRow {
  std::uint64_t number = 0;  ///< Above 0, and above that of every row before.
  std::string_view key;      ///< What it is searched by.
  std::span<const std::byte> value;
};

/// What is said of a row later; the last word counts. Of a row that is gone: nothing.
struct RingNote {
  std::uint64_t number = 0;
  std::span<const std::byte> value;
};

class RowRing {
public:
  /// Opens or creates the file. A damaged one, or one of another kind, is removed, which is logged.
  static Result<RowRing> open(const std::string& path, const RingLimits& limits = {});

  /// The number of the last row that was written; 0 for none.
  Result<std::uint64_t> newest();

  /// All of it or, on an error, none: `overloaded` when the disk is full, `too_large` for a row of
  /// more than `row_bytes`. After `corrupt` the file is empty.
  Result<> write(const std::vector<RingRow>& rows, const std::vector<RingNote>& notes);

  /// Calls `visit(row, note)` for the rows below `before` (0: for all) whose key begins with
  /// `prefix`, the newest first, until it says false. What they refer to is valid until it returns.
  using Visit = std::function<bool(const RingRow& row, std::span<const std::byte> note)>;
  Result<> each(std::uint64_t before, std::string_view prefix, const Visit& visit);

  /// Calls `visit` for that row, if it is there.
  Result<> find(std::uint64_t number, const Visit& visit);

private:
  RowRing(std::string path, const RingLimits& limits) : path_{std::move(path)}, limits_{limits} {}

  Result<> open_file();
  Result<> begin_anew(const Error& reason);
  Result<> count();
  Result<> write_all(const std::vector<RingRow>& rows, const std::vector<RingNote>& notes);
  Result<> remove_oldest();

  std::string path_;
  RingLimits limits_;
  std::optional<Database> database_;  ///< Empty while it could not be opened anew.
  Statement insert_;
  Statement note_;
  std::uint64_t rows_ = 0;
  std::uint64_t bytes_ = 0;
  bool is_counted_ = false;  ///< Whether these two are right.
};

}  // namespace nomad::storage
