// gzip for answers, on zlib. Internal to runtime/net.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace nomad::net {

/// Compresses one body whole. Keeps its compressor per thread, so calls allocate little.
std::string gzip(std::string_view body);

/// Undoes `gzip`; "" when `compressed` is not whole gzip data or yields more than `limit` bytes.
std::string gunzip(std::string_view compressed, std::size_t limit);

/// Compresses a body in pieces. Each piece comes out flushed, so that the reader sees it at once.
/// Holds about 50 kB.
class GzipStream {
public:
  GzipStream();
  ~GzipStream();
  GzipStream(const GzipStream&) = delete;

  /// Appends the compressed form of `piece` to `out`.
  void append(std::string_view piece, std::string& out);

  /// Appends what ends the stream.
  void finish(std::string& out);

private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace nomad::net
