#include "runtime/net/rpc/rpc_request.hpp"

#include <algorithm>

#include "runtime/net/rpc/little_endian.hpp"

namespace nomad::net {

Bytes encode_head(const RpcRequest& request) {
  std::string head;
  head.reserve(rpc_request_fixed_bytes + request.head.size());
  append_little_endian(head, request.method);
  append_little_endian(head, std::uint16_t{0});
  append_little_endian(head, static_cast<std::uint32_t>(
                                 std::clamp<std::int64_t>(request.timeout.count(), 0, 0xffffffff)));
  append_little_endian(head, static_cast<std::uint32_t>(request.head.size()));
  head += request.head.text();
  return Bytes::copy(head);
}

Result<RpcRequest> decode_rpc_request(const RpcFrameHeader& header, const Bytes& message) {
  const auto bytes = message.view();
  const auto cut_short = [&header] {
    return Error{Errc::corrupt, std::string{to_string(header.kind)} + ": cut short"};
  };
  if (bytes.size() < rpc_request_fixed_bytes) return cut_short();
  const std::size_t head_size = little_endian_at<std::uint32_t>(bytes, 8);
  if (head_size > bytes.size() - rpc_request_fixed_bytes) return cut_short();
  RpcRequest request;
  request.method = little_endian_at<std::uint16_t>(bytes, 0);
  request.timeout = std::chrono::milliseconds{little_endian_at<std::uint32_t>(bytes, 4)};
  request.priority = header.priority;
  request.one_way = header.one_way;
  request.byte_stream = header.byte_stream;
  request.head = message.slice(rpc_request_fixed_bytes, head_size);
  request.body = message.slice(rpc_request_fixed_bytes + head_size,
                               bytes.size() - rpc_request_fixed_bytes - head_size);
  return request;
}

}  // namespace nomad::net
