// Chain: how the lines of an audit log hang together, so that one that was edited, cut out, swapped
// or put in is found. Each line is a JSON object whose last members are
//
//   "seq":7,"prev":"<64 digits>","hash":"<64 digits>"}
//
// seq counts from 1 over all files of a log. hash is the BLAKE2b (32 bytes) of the line's bytes
// before `,"hash"`, so of the line's content, its number and prev, which is the hash of the line
// before it; 64 zeros of the first.
//
// It has no key: who may write the files can make a whole new end of the chain. Keep the newest
// hash elsewhere (`operator audit verify` prints it), and that is found, too.
//
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace nomad::audit {

/// The newest line of a log.
struct Link {
  std::uint64_t number = 0;  ///< 0: there is none yet.
  std::string hash = std::string(64, '0');

  friend bool operator==(const Link&, const Link&) = default;
};

/// Closes an open object as the line after `last`, which it becomes. Without a line break.
std::string seal(std::string_view open_object, Link& last);

/// What a line says of itself.
struct ReadLink {
  Link link;
  std::string prev;
  bool is_whole = false;  ///< Its hash is that of its bytes.
};

/// Nothing: it does not end as a line of a chain does.
std::optional<ReadLink> read_link(std::string_view line);

/// How a file ends that a log goes on with.
struct Tail {
  std::optional<Link> last;   ///< Of the last line that says of itself which it is.
  std::size_t torn = 0;       ///< Bytes at the end that are no whole line.
  std::uint64_t damaged = 0;  ///< Whole lines behind `last` that are none of a chain.
};

/// `end` is the end of a file, from the beginning of a line on or anywhere in one.
Tail read_tail(std::string_view end);

/// More bytes than a line ever has.
inline constexpr std::size_t longest_line = std::size_t{1} << 20;

}  // namespace nomad::audit
