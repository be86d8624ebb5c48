// Fuzzes what a peer can send on the RPC port: any bytes, or frames of any content, in pieces of
// any size, against both sides of the protocol. Whatever comes, limits hold, and everything ends
// when the connection does.
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "runtime/net/rpc/rpc_mux.hpp"

using namespace nomad;
using namespace nomad::net;

namespace {

constexpr RpcLimits limits{.max_message_bytes = 100'000,
                           .max_assembling_bytes = 200'000,
                           .max_streams = 8,
                           .max_queue_bytes = 100'000,
                           .window_bytes = 1'000};

void require(bool holds) {
  if (!holds) std::abort();
}

/// Answers some requests, and takes some bytes, as a handler would.
void act(RpcMux& mux, const RpcEvents& events) {
  for (const auto& event : events) {
    if (const auto* asked = std::get_if<RpcRequested>(&event)) {
      require(asked->request.body.size() <= limits.max_message_bytes);
      if (asked->request.method % 3 == 0)
        mux.respond(asked->stream, asked->request.body);
      else if (asked->request.method % 3 == 1)
        mux.fail(asked->stream, {Errc::rejected, "no"});
      mux.write(asked->stream, Bytes::copy(asked->request.head.text()));
    } else if (const auto* data = std::get_if<RpcData>(&event)) {
      require(data->bytes.size() <= limits.window_bytes);
      mux.taken(data->stream, data->bytes.size());
    }
  }
}

void run(RpcMux::Side side, std::span<const std::byte> input, std::size_t step) {
  const RpcClock::time_point now{};
  RpcMux mux{side, {}, limits, now};
  RpcEvents events;
  if (const auto id = mux.call({.method = 1,
                                .timeout = std::chrono::seconds{1},
                                .byte_stream = true,
                                .head = {},
                                .body = Bytes::copy("body")},
                               now))
    mux.write(*id, Bytes::copy("data"));
  RpcHello hello{.role = RpcRole::server};
  RpcFrameHeader header{.kind = RpcFrameKind::hello};
  const auto payload = encode(hello);
  header.length = static_cast<std::uint32_t>(payload.size());
  const auto head = encode(header);
  require(mux.receive(head, now, events).has_value());
  require(mux.receive(std::as_bytes(std::span{payload}), now, events).has_value());
  while (!input.empty()) {
    const auto count = std::min(step, input.size());
    if (!mux.receive(input.first(count), now, events)) break;
    input = input.subspan(count);
    act(mux, events);
    events.clear();
    for (int i = 0; i < 4; ++i)
      if (const auto piece = mux.next_output(events))
        require(piece->payload.size() <= rpc_frame_payload_bytes);
    require(mux.open_streams() <= limits.max_streams + 1);
  }
  events.clear();
  mux.abort({Errc::unavailable, "over"}, events);
  require(mux.open_streams() == 0);
}

/// The input as frames whose headers are well-formed, so that what lies behind them is reached.
std::vector<std::byte> framed(std::span<const std::uint8_t> input) {
  std::vector<std::byte> out;
  while (input.size() >= 6) {
    RpcFrameHeader header{.kind = static_cast<RpcFrameKind>(1 + input[0] % 10),
                          .priority = static_cast<RpcPriority>(input[1] % rpc_priority_count),
                          .first = (input[2] & 1) != 0,
                          .last = (input[2] & 2) != 0,
                          .one_way = (input[2] & 4) != 0,
                          .byte_stream = (input[2] & 8) != 0,
                          .stream = input[3],
                          .length = 0};
    const auto wanted = static_cast<std::size_t>(input[4] | input[5] << 8);
    input = input.subspan(6);
    const auto payload = std::as_bytes(input.first(std::min(wanted, input.size())));
    input = input.subspan(payload.size());
    header.length = static_cast<std::uint32_t>(payload.size());
    const auto head = encode(header);
    out.insert(out.end(), head.begin(), head.end());
    out.insert(out.end(), payload.begin(), payload.end());
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto input = std::as_bytes(std::span{data + 1, size - 1});
  const std::size_t step = 1 + data[0] * 7U;
  if (const auto header = decode_rpc_frame_header(input)) {
    const auto again = encode(*header);
    require(decode_rpc_frame_header(again).value() == *header);
  }
  run(RpcMux::Side::acceptor, input, step);
  run(RpcMux::Side::dialer, input, step);
  const auto frames = framed({data + 1, size - 1});
  run(RpcMux::Side::acceptor, frames, step);
  run(RpcMux::Side::dialer, frames, step);
  return 0;
}
