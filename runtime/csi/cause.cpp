#include "runtime/csi/cause.hpp"

#include <array>
#include <utility>

namespace nomad::csi {
namespace {

struct CauseRow {
  Cause cause;
  std::string_view name;
  Errc code;
  bool may_pass;
};

constexpr std::array rows{
    CauseRow{Cause::none, "none", Errc::internal, false},
    CauseRow{Cause::cancelled, "cancelled", Errc::cancelled, false},
    CauseRow{Cause::unknown, "unknown", Errc::rejected, false},
    CauseRow{Cause::invalid_argument, "invalid_argument", Errc::invalid_argument, false},
    CauseRow{Cause::deadline, "deadline", Errc::timeout, true},
    CauseRow{Cause::not_found, "not_found", Errc::not_found, false},
    CauseRow{Cause::already_exists, "already_exists", Errc::conflict, false},
    CauseRow{Cause::permission_denied, "permission_denied", Errc::rejected, false},
    CauseRow{Cause::exhausted, "exhausted", Errc::overloaded, true},
    CauseRow{Cause::failed_precondition, "failed_precondition", Errc::rejected, false},
    CauseRow{Cause::aborted, "aborted", Errc::conflict, true},
    CauseRow{Cause::out_of_range, "out_of_range", Errc::rejected, false},
    CauseRow{Cause::unimplemented, "unimplemented", Errc::rejected, false},
    CauseRow{Cause::internal, "internal", Errc::rejected, false},
    CauseRow{Cause::unavailable, "unavailable", Errc::unavailable, true},
    CauseRow{Cause::data_loss, "data_loss", Errc::rejected, false},
    CauseRow{Cause::unauthenticated, "unauthenticated", Errc::rejected, false},
    CauseRow{Cause::no_socket, "no_socket", Errc::unavailable, true},
    CauseRow{Cause::nonsense, "nonsense", Errc::corrupt, false},
    CauseRow{Cause::not_asked, "not_asked", Errc::unavailable, true},
};

const CauseRow& row_of(Cause cause) {
  for (const auto& row : rows)
    if (row.cause == cause) return row;
  return rows[static_cast<std::size_t>(Cause::unknown)];
}

}  // namespace

std::string_view name_of(Cause cause) {
  return row_of(cause).name;
}

Cause cause_of(std::uint16_t number) {
  return row_of(static_cast<Cause>(number)).cause;
}

bool may_pass(Cause cause) {
  return row_of(cause).may_pass;
}

Error error_of(const Failure& failure) {
  return {row_of(failure.cause).code, failure.what};
}

}  // namespace nomad::csi
