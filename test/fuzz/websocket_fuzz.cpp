// Fuzzes websocket frames of either side, in pieces of any size: whatever comes, the bounds hold,
// and the pieces make no difference.
#include <cstdlib>
#include <string>
#include <vector>

#include "runtime/net/http/websocket.hpp"

using namespace nomad::net::websocket;

namespace {

constexpr std::size_t limit = 1'000;

std::vector<Message> read(Side side, std::string_view bytes, std::size_t piece) {
  Codec codec{side, limit};
  std::vector<Message> messages;
  while (!bytes.empty() && !codec.fault()) {
    auto part = bytes.substr(0, piece);
    bytes.remove_prefix(part.size());
    while (auto message = codec.next(part)) {
      if (message->payload.size() > limit) std::abort();
      messages.push_back(std::move(*message));
    }
    if (!part.empty()) std::abort();
  }
  return messages;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size < 2) return 0;
  const auto side = (data[0] & 1) != 0 ? Side::client : Side::server;
  const std::size_t piece = 1 + data[1];
  const std::string_view bytes{reinterpret_cast<const char*>(data) + 2, size - 2};
  const auto whole = read(side, bytes, bytes.size() + 1);
  const auto pieces = read(side, bytes, piece);
  if (whole.size() != pieces.size()) std::abort();
  for (std::size_t i = 0; i < whole.size(); ++i)
    if (whole[i].kind != pieces[i].kind || whole[i].payload != pieces[i].payload) std::abort();
  return 0;
}
