// PluginCall: one question to a plugin, over a connection of its own: a plugin that ends and comes
// back has no memory here, and none that hangs holds up another.
//
// Threads: any. gRPC's own threads call `then`, once.
#pragma once

#include <functional>
#include <memory>

#include "runtime/csi/frames.hpp"

namespace nomad::csi {

class PluginCall {
public:
  using Then = std::function<void(Answer)>;

  virtual ~PluginCall() = default;

  /// It is answered all the same, and soon.
  virtual void cancel() = 0;

  /// `call` is copied. Null where there is nobody to ask: `then` has been called.
  static std::shared_ptr<PluginCall> start(schema::csi::Call::Reader call, Then then);
};

/// What is answered in place of a plugin.
Answer failed(std::uint64_t number, std::uint16_t cause, const std::string& why);

}  // namespace nomad::csi
