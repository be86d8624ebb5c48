// The frames that an agent and nomadctl-csi exchange: each an object behind its length (four bytes,
// the least first). Both sides are of one release, and neither believes the other: sizes are
// bounded before anything is kept, and an object is read only after a full checked pass. No I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>

#include "runtime/object/object.hpp"
#include "schema/csi_call.capnp.h"

namespace nomad::csi {

using Order = Object<schema::csi::Order>;
using Answer = Object<schema::csi::Answer>;

/// More than any answer has: what plugins may say is bounded by less.
inline constexpr std::size_t most_frame_bytes = std::size_t{16} << 20;

/// Puts `object` behind its length at the end of `to`. `too_large`: nothing was put.
template <class T>
Result<> append_frame(std::string& to, const Object<T>& object) {
  const auto body = object.bytes();
  if (body.size() > most_frame_bytes)
    return Error{Errc::too_large, "more than is asked or answered at once"};
  const auto size = static_cast<std::uint32_t>(body.size());
  to.append(reinterpret_cast<const char*>(&size), sizeof size);
  to.append(reinterpret_cast<const char*>(body.data()), body.size());
  return {};
}

/// Takes frames out of bytes as they come; of one that is still to come it keeps what has come.
class FrameSplitter {
public:
  /// Calls `take` with the bytes of each whole frame. An error, `corrupt`, ends it for good.
  Result<> add(std::string_view bytes, const std::function<Result<>(std::string_view)>& take);

private:
  std::string rest_;
};

/// The object that is `bytes`. `corrupt`: it is none.
template <class T>
Result<Object<T>> object_in(std::string_view bytes) {
  return Object<T>::from_bytes({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()});
}

}  // namespace nomad::csi
