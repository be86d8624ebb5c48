// TarGzWriter and TarGzReader: regular files in a gzip'd tar (ustar), as a stream. As much of both
// formats as snapshot archives need; the reader refuses everything else.
//
// Written here, on zlib, and not taken from libarchive: what an operator hands to every server of a
// cluster should meet a reader of one format and not of thirty, and an agent should not map
// libxml2, ICU and five more codecs for three files. Where users' archives are unpacked
// (artifacts), that library is the right one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/result.hpp"

namespace nomad::storage {

class TarGzWriter {
public:
  static Result<TarGzWriter> create(const std::string& path);
  TarGzWriter(TarGzWriter&&) noexcept;
  ~TarGzWriter();

  /// Begins a file; exactly `size` bytes are to be written before the next.
  Result<> begin_file(std::string_view name, std::uint64_t size, std::int64_t unix_seconds);
  Result<> write(std::string_view bytes);

  /// Writes the end of both formats and makes the file durable.
  Result<> finish();

private:
  struct Parts;
  explicit TarGzWriter(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

class TarGzReader {
public:
  static Result<TarGzReader> open(const std::string& path);
  TarGzReader(TarGzReader&&) noexcept;
  ~TarGzReader();

  struct Entry {
    std::string name;
    std::uint64_t size = 0;
  };

  /// The next file, after its predecessor was read to its end; empty behind the last. `corrupt`
  /// when the stream is cut short, fails its checksum, or holds something else.
  Result<std::optional<Entry>> next();

  /// Hands out the current file piece by piece.
  Result<> read(const std::function<Result<>(std::string_view)>& piece);

private:
  struct Parts;
  explicit TarGzReader(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace nomad::storage
