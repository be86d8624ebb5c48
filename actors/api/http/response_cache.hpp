// ResponseCache: keeps renderings that are asked for again and again while what they show does not
// change. Bounded in bytes; what was used longest ago goes first.
//
// A rendering is kept only when the same target is asked for twice at the same index, so that
// what changes all the time costs no memory. It is found only by callers who may see just what the
// one may for whom it was made. Thread-safe.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/access/verdicts.hpp"

namespace nomad::api {

class ResponseCache {
public:
  struct Rendering {
    std::shared_ptr<const std::string> body;
    std::shared_ptr<const std::string> gzip;  ///< Made when first wanted.
    std::string next_token;
    std::vector<access::Verdict> verdicts;  ///< Of what was looked at to make it.
  };

  explicit ResponseCache(std::size_t max_bytes) : max_bytes_{max_bytes} {}

  /// The rendering of `target` as of `index`, with its gzip form when `wants_gzip`; null when
  /// there is none, or none for `who`.
  std::shared_ptr<const Rendering> find(std::string_view target,
                                        std::uint64_t index,
                                        bool wants_gzip,
                                        const access::Principal& who);

  /// Whether a rendering of `target` as of `index` would be kept: it was asked for already, and is
  /// not known to be too large.
  bool wants(std::string_view target, std::uint64_t index) const;

  /// A rendering of so many bytes was made and is not offered.
  void note(std::string_view target, std::uint64_t index, std::size_t bytes);

  /// Offers a rendering; true when it is kept (then `body` is shared with the cache).
  std::shared_ptr<const Rendering> offer(std::string_view target,
                                         std::uint64_t index,
                                         std::string& body,
                                         const std::string& next_token,
                                         const std::vector<access::Verdict>& verdicts);

  std::size_t bytes() const;

private:
  struct Entry {
    std::string target;
    std::uint64_t index = 0;
    std::shared_ptr<Rendering> rendering;  ///< Null: asked for once.
    std::size_t bytes = 0;
    bool is_too_large = false;  ///< As of that index.
  };

  using Entries = std::list<Entry>;

  bool is_too_large(std::size_t bytes) const { return bytes > max_bytes_ / 2; }

  Entry* noted(std::string_view target, std::uint64_t index);
  void evict();

  const std::size_t max_bytes_;
  mutable std::mutex guard_;
  Entries entries_;  ///< Most recently used first.
  std::unordered_map<std::string_view, Entries::iterator> by_target_;
  std::size_t bytes_ = 0;
};

}  // namespace nomad::api
