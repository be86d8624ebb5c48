#include "runtime/csi/frames.hpp"

#include <fmt/format.h>

namespace nomad::csi {

Result<> FrameSplitter::add(std::string_view bytes,
                            const std::function<Result<>(std::string_view)>& take) {
  rest_.append(bytes);
  std::size_t begin = 0;
  std::uint32_t size = 0;
  while (rest_.size() - begin >= sizeof size) {
    std::memcpy(&size, rest_.data() + begin, sizeof size);
    if (size > most_frame_bytes)
      return Error{Errc::corrupt, fmt::format("a frame of {} bytes, of which {} are the most", size,
                                              most_frame_bytes)};
    if (rest_.size() - begin - sizeof size < size) break;
    NOMAD_TRY(take(std::string_view{rest_}.substr(begin + sizeof size, size)));
    begin += sizeof size + size;
  }
  rest_.erase(0, begin);
  if (rest_.empty()) rest_.shrink_to_fit();
  return {};
}

}  // namespace nomad::csi
