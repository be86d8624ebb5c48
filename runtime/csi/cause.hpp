// Why a plugin of the Container Storage Interface has not done what it was asked: the codes of gRPC
// by their numbers, and what goes wrong without an answer of it. Whoever asks branches on these;
// texts are for people.
//
// May be included by everything.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/base/result.hpp"

namespace nomad::csi {

/// The numbers are those of the wire between agent and nomadctl-csi.
enum class Cause : std::uint16_t {
  none = 0,
  cancelled = 1,
  unknown = 2,
  invalid_argument = 3,
  deadline = 4,  ///< No answer in time; it may still be done.
  not_found = 5,
  already_exists = 6,  ///< With other properties.
  permission_denied = 7,
  exhausted = 8,
  failed_precondition = 9,
  aborted = 10,  ///< Another call about the same volume is under way.
  out_of_range = 11,
  unimplemented = 12,
  internal = 13,
  unavailable = 14,
  data_loss = 15,
  unauthenticated = 16,
  no_socket = 100,  ///< Nobody listens, or there is no socket at its path.
  nonsense = 101,   ///< It answered something that can't be, or too much.
  not_asked = 102,  ///< This machine can't ask: nomadctl-csi is missing, or died over it.
};

struct Failure {
  Cause cause = Cause::none;
  std::string what{};  ///< One line, of the plugin's or ours.

  bool is() const { return cause != Cause::none; }

  friend bool operator==(const Failure&, const Failure&) = default;
};

/// "not_found", for logs.
std::string_view name_of(Cause cause);

/// Of a number of the wire; one that there is not is `unknown`.
Cause cause_of(std::uint16_t number);

/// Whether asking the same again may do: nothing was said about what was asked for.
bool may_pass(Cause cause);

/// As it is told to who knows no causes.
Error error_of(const Failure& failure);

}  // namespace nomad::csi
