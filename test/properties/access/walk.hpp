// Walks: somebody with tokens of managers' making asks whatever comes to his mind, again and again,
// and learns from the answers; managers change what he is allowed beside him. No sequence of calls
// may give him more than that. Everything is real but the sockets: routes, judge, decisions, state.
//
// After each step: each token that he has, also those that he was given by a login or a one-time
// token, gives what the book (book.hpp) says or less; no answer has shown the secret of another's
// token, nor a variable or job that he may not read; and what has changed in the state is his to
// change. All is drawn by a seed, but the ids and secrets that servers draw.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace nomad::properties {

/// What was met.
struct WalkCounts {
  std::map<std::string, std::uint64_t> tried;    ///< By the request's form.
  std::map<std::string, std::uint64_t> allowed;  ///< Of these.
  std::uint64_t managed = 0;                     ///< Steps of managers.
  std::uint64_t logins = 0;
  std::uint64_t changes = 0;  ///< Requests of the walker that changed something.
};

/// What went wrong within so many steps, and in which; "": nothing.
std::string walk(std::uint64_t seed, std::uint64_t steps, WalkCounts& counts);

}  // namespace nomad::properties
