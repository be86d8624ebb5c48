// Fuzzes what a container engine sends: streams of logs in pieces of any size, progress of pulls,
// and the JSON of its answers. Whatever comes, nothing breaks, and the pieces make no difference.
#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "runtime/docker/engine_answers.hpp"
#include "runtime/docker/log_stream.hpp"
#include "runtime/docker/registry_auth.hpp"

using namespace nomad;
using namespace nomad::docker;

namespace {

/// Hands `bytes` to `take` in pieces, to the first error.
template <class Take>
bool in_pieces(std::string_view bytes, std::size_t piece, Take take) {
  while (!bytes.empty()) {
    if (!take(bytes.substr(0, piece))) return false;
    bytes.remove_prefix(std::min(piece, bytes.size()));
  }
  return true;
}

std::vector<std::string> frames(std::string_view bytes, std::size_t piece) {
  std::vector<std::string> seen;
  FrameSplitter splitter;
  const bool good = in_pieces(bytes, piece, [&](std::string_view part) {
    return splitter
        .take(part,
              [&](Output output, std::string_view text) {
                seen.push_back(std::string(1, static_cast<char>(output)) + std::string{text});
                static_cast<void>(read_message(output, text));
              })
        .has_value();
  });
  seen.emplace_back(good ? "good" : "bad");
  return seen;
}

std::vector<std::string> messages(std::string_view bytes, std::size_t piece) {
  std::vector<std::string> seen;
  MessageSplitter splitter;
  LogCursor cursor;
  const bool good = in_pieces(bytes, piece, [&](std::string_view part) {
    return splitter
        .take(part,
              [&](const LogMessage& message) {
                if (!cursor.take(message)) std::abort();  // nothing was known
                seen.emplace_back(message.text);
              })
        .has_value();
  });
  static_cast<void>(cursor.position());
  seen.emplace_back(good ? "good" : "bad");
  return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size < 2) return 0;
  const std::size_t piece = 1 + data[1];
  const std::string_view bytes{reinterpret_cast<const char*>(data) + 2, size - 2};
  switch (data[0] % 4) {
    case 0:
      if (frames(bytes, bytes.size() + 1) != frames(bytes, piece)) std::abort();
      return 0;
    case 1:
      if (messages(bytes, bytes.size() + 1) != messages(bytes, piece)) std::abort();
      return 0;
    case 2: {
      PullProgress progress;
      in_pieces(bytes, piece,
                [&](std::string_view part) { return progress.take(part).has_value(); });
      static_cast<void>(progress.summary());
      return 0;
    }
    default:
      static_cast<void>(read_version(bytes));
      static_cast<void>(read_info(bytes));
      static_cast<void>(read_container(bytes));
      static_cast<void>(read_containers(bytes));
      static_cast<void>(read_usage(bytes));
      static_cast<void>(read_bridge(bytes));
      static_cast<void>(engine_complaint({500, std::string{bytes}}));
      static_cast<void>(read_helper_answer(bytes));
      return 0;
  }
}
