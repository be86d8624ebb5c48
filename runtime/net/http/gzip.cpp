#include "runtime/net/http/gzip.hpp"

#include <new>

#include <zlib.h>

namespace nomad::net {
namespace {

constexpr int gzip_format = 16;  // added to the window's bits, as zlib wants it
constexpr int whole_window = 15;
constexpr int stream_window = 12;  // 4 KiB, so that many streams stay small
constexpr int level = 3;
constexpr int whole_memory = 8;
constexpr int stream_memory = 5;

}  // namespace

/// A compressor that `begin` makes ready for the next body.
class Deflater {
public:
  Deflater(int window, int memory) {
    if (::deflateInit2(&stream_, level, Z_DEFLATED, window + gzip_format, memory,
                       Z_DEFAULT_STRATEGY)
        != Z_OK)
      throw std::bad_alloc{};
  }

  ~Deflater() { ::deflateEnd(&stream_); }

  Deflater(const Deflater&) = delete;

  void begin() { ::deflateReset(&stream_); }

  void run(std::string_view input, int flush, std::string& out) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input.data()));
    stream_.avail_in = static_cast<uInt>(input.size());
    char buffer[16 * 1024];
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(buffer);
      stream_.avail_out = sizeof buffer;
      ::deflate(&stream_, flush);
      out.append(buffer, sizeof buffer - stream_.avail_out);
    } while (stream_.avail_out == 0);
  }

private:
  z_stream stream_{};
};

std::string gzip(std::string_view body) {
  thread_local Deflater deflater{whole_window, whole_memory};
  deflater.begin();
  std::string out;
  out.reserve(body.size() / 4 + 64);
  deflater.run(body, Z_FINISH, out);
  return out;
}

std::string gunzip(std::string_view compressed, std::size_t limit) {
  z_stream stream{};
  if (::inflateInit2(&stream, whole_window + gzip_format) != Z_OK) throw std::bad_alloc{};
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(compressed.data()));
  stream.avail_in = static_cast<uInt>(compressed.size());
  std::string out;
  int state = Z_OK;
  while (state == Z_OK && out.size() <= limit) {
    char buffer[16 * 1024];
    stream.next_out = reinterpret_cast<Bytef*>(buffer);
    stream.avail_out = sizeof buffer;
    state = ::inflate(&stream, Z_NO_FLUSH);
    out.append(buffer, sizeof buffer - stream.avail_out);
  }
  ::inflateEnd(&stream);
  if (state != Z_STREAM_END || out.size() > limit) out.clear();
  return out;
}

struct GzipStream::State {
  Deflater deflater{stream_window, stream_memory};
};

GzipStream::GzipStream() : state_{std::make_unique<State>()} {}

GzipStream::~GzipStream() = default;

void GzipStream::append(std::string_view piece, std::string& out) {
  state_->deflater.run(piece, Z_SYNC_FLUSH, out);
}

void GzipStream::finish(std::string& out) {
  state_->deflater.run({}, Z_FINISH, out);
}

}  // namespace nomad::net
