#include "runtime/net/rpc/rpc_assembly.hpp"

#include <utility>

namespace nomad::net {

Result<> RpcAssembly::add(std::string& message, std::span<const std::byte> piece, bool is_first) {
  if (is_first && !message.empty()) return Error{Errc::corrupt, "a message within a message"};
  if (message.size() + piece.size() > max_message_bytes_)
    return Error{Errc::too_large,
                 "a message of more than " + std::to_string(max_message_bytes_) + " bytes"};
  if (unfinished_bytes_ + piece.size() > max_unfinished_bytes_)
    return Error{Errc::too_large, "unfinished messages of more than "
                                      + std::to_string(max_unfinished_bytes_) + " bytes"};
  message.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  unfinished_bytes_ += piece.size();
  return {};
}

Bytes RpcAssembly::finish(std::string& message) {
  unfinished_bytes_ -= message.size();
  auto owner = std::make_shared<const std::string>(std::exchange(message, {}));
  const auto view = std::as_bytes(std::span{*owner});
  return {std::move(owner), view};
}

void RpcAssembly::drop(std::string& message) {
  unfinished_bytes_ -= message.size();
  message.clear();
}

}  // namespace nomad::net
